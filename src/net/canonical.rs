//! One spelling per page, so that a page met under several is one source.

use url::Url;

/// The spelling of `url` under which duplicates meet.
///
/// Scheme and host in lower case, no default port, no fragment, no tracking parameters (`utm_*`, `gclid`, `fbclid`, …),
/// no `/` at the end of a path except the root's. The order of the other parameters stays, since servers may care.
/// What is no `http(s)` URL comes back trimmed and otherwise unchanged: for a local document the fragment
/// (`#page=3`) tells one passage from another.
pub fn canonical_url(url: &str) -> String {
    let trimmed = url.trim();
    match Url::parse(trimmed) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => canonical(parsed),
        _ => trimmed.to_owned(),
    }
}

fn canonical(mut url: Url) -> String {
    url.set_fragment(None);
    if url.query().is_some() {
        let query = without_tracking(url.query().unwrap_or_default());
        url.set_query((!query.is_empty()).then_some(query.as_str()));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    url.into()
}

/// The query as written, minus tracking; parameters are not decoded, so what stays is byte for byte the same.
fn without_tracking(query: &str) -> String {
    let kept: Vec<_> = query.split('&').filter(|pair| !pair.is_empty() && !is_tracking(pair)).collect();
    kept.join("&")
}

fn is_tracking(pair: &str) -> bool {
    const NAMES: [&str; 8] = ["gclid", "gclsrc", "dclid", "fbclid", "msclkid", "mc_cid", "mc_eid", "igshid"];
    let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
    name.starts_with("utm_") || NAMES.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_page_meet() {
        let check = |input: &str, expected: &str| assert_eq!(canonical_url(input), expected, "{input}");
        check("HTTPS://Example.COM:443/a/b/#top", "https://example.com/a/b");
        check("http://example.com:80", "http://example.com/");
        check("http://example.com:8080/", "http://example.com:8080/");
        check("https://example.com/a?utm_source=x&b=2&a=1&fbclid=y", "https://example.com/a?b=2&a=1");
        check("https://example.com/a?UTM_Medium=x", "https://example.com/a");
        check("https://example.com/a?q=a%20b+c", "https://example.com/a?q=a%20b+c");
        check("https://example.com/A/", "https://example.com/A");
        check("https://example.com/?q=1#x", "https://example.com/?q=1");
        check("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC");
    }

    #[test]
    fn what_is_no_web_address_stays() {
        let check = |input: &str, expected: &str| assert_eq!(canonical_url(input), expected, "{input}");
        check(" minutes/april.pdf#page=3 ", "minutes/april.pdf#page=3");
        check("http://", "http://");
        check("", "");
    }

    #[test]
    fn a_canonical_url_stays_as_it_is() {
        for url in ["https://a.example/x//", "http://a.example/?&utm_id=1&&b", "http://[::1]:80/%2f/?=&a"] {
            let once = canonical_url(url);
            assert_eq!(canonical_url(&once), once);
        }
    }
}
