//! Tavily, a web search for machines: <https://docs.tavily.com/documentation/api-reference/endpoint/search>.

use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::{
    domain::Topic,
    search::{
        Error, Filter, Limits, Need, Returns, Row, Search, Setting, Value,
        web::{Problem, RawHit, Refused, Request, Shared, Web, Wire, objects},
    },
};

/// Tavily's own bound on `max_results` (2026-07).
const MAX_RESULTS: usize = 20;
/// Tavily's own bounds on lists of sites (2026-07).
const MAX_INCLUDED: usize = 300;
const MAX_EXCLUDED: usize = 150;

/// Tavily's own names of countries (2026-11), behind the code of each.
const COUNTRIES: &str = "\
    AF afghanistan,AL albania,DZ algeria,AD andorra,AO angola,AR argentina,AM armenia,AU australia,AT austria,\
    AZ azerbaijan,BS bahamas,BH bahrain,BD bangladesh,BB barbados,BY belarus,BE belgium,BZ belize,BJ benin,\
    BT bhutan,BO bolivia,BA bosnia and herzegovina,BW botswana,BR brazil,BN brunei,BG bulgaria,BF burkina faso,\
    BI burundi,KH cambodia,CM cameroon,CA canada,CV cape verde,CF central african republic,TD chad,CL chile,\
    CN china,CO colombia,KM comoros,CG congo,CR costa rica,HR croatia,CU cuba,CY cyprus,CZ czech republic,\
    DK denmark,DJ djibouti,DO dominican republic,EC ecuador,EG egypt,SV el salvador,GQ equatorial guinea,\
    ER eritrea,EE estonia,ET ethiopia,FJ fiji,FI finland,FR france,GA gabon,GM gambia,GE georgia,DE germany,\
    GH ghana,GR greece,GT guatemala,GN guinea,HT haiti,HN honduras,HU hungary,IS iceland,IN india,ID indonesia,\
    IR iran,IQ iraq,IE ireland,IL israel,IT italy,JM jamaica,JP japan,JO jordan,KZ kazakhstan,KE kenya,\
    KW kuwait,KG kyrgyzstan,LV latvia,LB lebanon,LS lesotho,LR liberia,LY libya,LI liechtenstein,LT lithuania,\
    LU luxembourg,MG madagascar,MW malawi,MY malaysia,MV maldives,ML mali,MT malta,MR mauritania,MU mauritius,\
    MX mexico,MD moldova,MC monaco,MN mongolia,ME montenegro,MA morocco,MZ mozambique,MM myanmar,NA namibia,\
    NP nepal,NL netherlands,NZ new zealand,NI nicaragua,NE niger,NG nigeria,KP north korea,MK north macedonia,\
    NO norway,OM oman,PK pakistan,PA panama,PG papua new guinea,PY paraguay,PE peru,PH philippines,PL poland,\
    PT portugal,QA qatar,RO romania,RU russia,RW rwanda,SA saudi arabia,SN senegal,RS serbia,SG singapore,\
    SK slovakia,SI slovenia,SO somalia,ZA south africa,KR south korea,SS south sudan,ES spain,LK sri lanka,\
    SD sudan,SE sweden,CH switzerland,SY syria,TW taiwan,TJ tajikistan,TZ tanzania,TH thailand,TG togo,\
    TT trinidad and tobago,TN tunisia,TR turkey,TM turkmenistan,UG uganda,UA ukraine,AE united arab emirates,\
    GB united kingdom,US united states,UY uruguay,UZ uzbekistan,VE venezuela,VN vietnam,YE yemen,ZM zambia,\
    ZW zimbabwe";

/// What a search may cost: of the words that Tavily has for it (2026-11).
const DEPTHS: [&str; 4] = ["basic", "advanced", "fast", "ultra-fast"];
const DEPTH: Setting = Setting {
    value: Value::Choice(&DEPTHS),
    need: Need::Default(DEPTHS[0]),
    ..Setting::optional(
        "search.tavily.depth",
        "TAVILY_DEPTH",
        "how thoroughly it searches; advanced costs twice as much",
        "advanced",
    )
};

const ADDRESS: &str = "https://api.tavily.com";

pub const ROW: Row = Row {
    name: "tavily",
    about: "the web, with the text of pages",
    returns: Returns::Pages,
    filters: &[Filter::TimeRange, Filter::Domains, Filter::Country, Filter::Topic],
    cost: "1 credit, 2 at depth `advanced`",
    // Tavily answers 400 to a longer query (2026-07).
    max_query_chars: 400,
    settings: &[
        Setting {
            example: "tvly-…",
            ..Setting::key(
                "search.tavily.api_key",
                "TAVILY_API_KEY",
                "key of Tavily; the web is searched when it is set",
            )
        },
        Setting {
            meaning: "address of Tavily",
            ..Setting::address("search.tavily.base_url", "TAVILY_BASE_URL", ADDRESS)
        },
        DEPTH,
    ],
    build,
    ..Row::WEB
};

/// Tavily's official way in for who has no key yet; how many searches it allows is not published.
pub const KEYLESS: Row = Row {
    name: "tavily_keyless",
    about: "the web by Tavily without a key, a few searches for a first look",
    cost: "nothing; limited",
    settings: &[Setting::address("search.tavily_keyless.base_url", "TAVILY_KEYLESS_BASE_URL", ADDRESS)],
    ..ROW
};

fn build(row: &'static Row, shared: &Shared) -> Result<Box<dyn Search>, Error> {
    let setting = row.settings.iter().find(|setting| setting.key == DEPTH.key);
    let depth = setting.and_then(|setting| shared.settings.value(setting)).unwrap_or(DEPTHS[0]).to_owned();
    Web::open(row, shared, "search", |endpoint, key| Tavily { endpoint, depth, key })
}

struct Tavily {
    endpoint: Url,
    depth: String,
    /// Without one, the keyless mode.
    key: Option<SecretString>,
}

impl Wire for Tavily {
    fn request(&self, query: &str, limits: &Limits) -> Request {
        let filters = &limits.filters;
        let mut body = json!({
            "query": query,
            "topic": filters.topic,
            "search_depth": self.depth,
            "max_results": limits.max_results.clamp(1, MAX_RESULTS),
            "include_raw_content": true,
            "include_answer": false,
            "include_images": false,
        });
        if let Some(range) = filters.time_range {
            body["time_range"] = json!(range);
        }
        // With other topics it is refused.
        if let Some(country) = filters.country.as_deref().filter(|_| filters.topic == Topic::General).and_then(country)
        {
            body["country"] = json!(country);
        }
        if !filters.include.is_empty() {
            body["include_domains"] = json!(filters.include.iter().take(MAX_INCLUDED).collect::<Vec<_>>());
        }
        if !filters.exclude.is_empty() {
            body["exclude_domains"] = json!(filters.exclude.iter().take(MAX_EXCLUDED).collect::<Vec<_>>());
        }
        let request = Request::post(self.endpoint.clone(), body);
        match &self.key {
            Some(key) => request.bearer(key),
            None => request.header("x-tavily-access-mode", "keyless").header("x-client-source", "fathom"),
        }
    }

    fn read(&self, body: &[u8]) -> Result<Vec<RawHit>, Error> {
        parse(body)
    }

    /// Reads a refusal as Tavily's reference has it (2026-07): 432 is the plan's limit, 433 the pay-as-you-go limit;
    /// without a key the wait stands in the body.
    fn refusal(&self, refused: &Refused<'_>) -> Option<Problem> {
        match refused.status {
            432 | 433 => Some(Problem::unpaid(refused.said)),
            429 => {
                let seconds = refused.body.pointer("/error/retry_after_seconds").and_then(serde_json::Value::as_f64);
                Some(Problem::limited(refused.after.or_else(|| crate::net::asked_wait(seconds?))))
            }
            _ => None,
        }
    }
}

/// Returns Tavily's name of a country.
fn country(code: &str) -> Option<&'static str> {
    COUNTRIES.split(',').find_map(|country| country.strip_prefix(code)?.strip_prefix(' '))
}

/// Returns the results of an answer, those without an address left out.
fn parse(body: &[u8]) -> Result<Vec<RawHit>, Error> {
    let results = objects(body, &["results"])?;
    let found = |result: crate::search::web::Object<'_>| {
        Some(RawHit {
            url: result.text("url")?,
            title: result.text("title"),
            snippet: result.text("content"),
            content: result.text("raw_content"),
            published: result.text("published_date"),
            score: result.read("score"),
            ..RawHit::default()
        })
    };
    Ok(results.into_iter().filter_map(found).collect())
}

/// Entry points of the fuzz targets (docs/fuzzing.md); not part of any other build.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub fn answer(body: &[u8]) {
        let _ = super::parse(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_survive_missing_and_odd_fields() {
        let answer = json!({"results": [
            {"title": "No address"},
            {"url": 7},
            "no result",
            {"url": "https://a.test", "title": " ", "content": null, "raw_content": 3, "score": "high"},
            {"url": "https://b.test", "title": "B", "content": "plain", "raw_content": "# B", "score": 0.5,
             "published_date": "Mon, 10 Mar 2031", "more": [[{}]]},
        ]});
        let expected = [
            RawHit { url: "https://a.test".into(), title: Some(" ".into()), ..RawHit::default() },
            RawHit {
                url: "https://b.test".into(),
                title: Some("B".into()),
                snippet: Some("plain".into()),
                content: Some("# B".into()),
                published: Some("Mon, 10 Mar 2031".into()),
                score: Some(0.5),
                ..RawHit::default()
            },
        ];
        assert_eq!(parse(answer.to_string().as_bytes()).unwrap(), expected);
    }

    #[test]
    fn countries_have_names() {
        assert_eq!(
            [country("DE"), country("ZW"), country("GB")].map(Option::unwrap),
            ["germany", "zimbabwe", "united kingdom"]
        );
        assert_eq!([country("ZZ"), country(""), country("D")], [None; 3]);
        let codes: std::collections::BTreeSet<_> = COUNTRIES.split(',').map(|country| &country[..3]).collect();
        assert_eq!(codes.len(), COUNTRIES.split(',').count(), "each stands there once");
    }

    #[test]
    fn an_answer_that_is_none_is_an_error() {
        let check = |body: &str, expected: &str| {
            assert_eq!(parse(body.as_bytes()).unwrap_err(), Error::unreadable(expected), "{body}");
        };
        check("<html>", "its answer is not JSON");
        check("{}", "its answer has no results");
        check(r#"{"results": null}"#, "its answer has no results");
        check(r#"{"results": {"url": "https://example.com"}}"#, "its answer has no results");
        check(&format!(r#"{{"results": {}"#, "[".repeat(1_000_000)), "its answer is not JSON");
        assert_eq!(parse(br#"{"results": []}"#).unwrap(), []);
    }
}
