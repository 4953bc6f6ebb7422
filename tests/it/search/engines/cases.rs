//! The engines, one by one: their answers, refusals and filters, in the vendors' form (made up, not recorded).

use super::{
    Case,
    Meaning::{Auth, BadQuery, Limited, Quota, Unavailable},
    in_german, in_taiwan, news, of_last_week, of_many_sites, of_one_site, without_a_site, without_many_sites,
};

pub const ALL: &[Case] = &[
    TAVILY,
    TAVILY_KEYLESS,
    SEARXNG,
    BRAVE,
    EXA,
    SERPER,
    FIRECRAWL,
    LINKUP,
    PERPLEXITY,
    JINA,
    KAGI,
    MOJEEK,
    WIKIPEDIA,
    ARXIV,
    OPENALEX,
    PUBMED,
    SEMANTIC_SCHOLAR,
    CROSSREF,
    GITHUB,
    STACKEXCHANGE,
    HACKERNEWS,
    OPENAI,
    ANTHROPIC,
    GOOGLE,
];

/// What a firewall before an engine answers; no engine says so of a key.
const FIREWALL: &str =
    "<html><head><title>Attention Required!</title></head><body>Your token was blocked.</body></html>";

const TAVILY: Case = Case {
    name: "tavily",
    address: "search.tavily.base_url",
    keys: &["search.tavily.api_key"],
    reply: r##"{"query": "pump noise", "results": [
        {"title": "Pumps &amp; <b>noise</b>", "url": "https://example.org/a", "content": "Pumps hum.",
         "raw_content": "# Pumps\n\nPumps hum at 60 dB.", "score": 0.9, "published_date": "Mon, 10 Mar 2031 08:00:00 GMT"},
        {"title": null, "url": "https://example.net/b", "content": null, "raw_content": null, "score": "high"},
        {"title": "Nowhere", "url": null}]}"##,
    hits: &[
        ("https://example.org/a", "Pumps & noise", "Pumps hum.", "# Pumps\n\nPumps hum at 60 dB.", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"results": []}"#)],
    refusals: &[
        (401, &[], r#"{"detail": {"error": "Unauthorized: {key} is no valid key."}}"#, Auth),
        (403, &[], FIREWALL, Unavailable),
        (403, &[], r#"{"detail": {"error": "Access denied by the monkey guard."}}"#, Unavailable),
        (403, &[("www-authenticate", "Bearer")], "", Auth),
        (432, &[], r#"{"detail": {"error": "This request exceeds your plan's set usage limit."}}"#, Quota),
        (433, &[], r#"{"detail": {"error": "This request exceeds the pay-as-you-go limit."}}"#, Quota),
        (429, &[], r#"{"detail": {"error": "Too many requests."}}"#, Limited(None)),
        (400, &[], r#"{"detail": {"error": "Query is too long."}}"#, BadQuery),
    ],
    sent: &[
        (of_last_week, &[r#""time_range":"week""#]),
        (of_one_site, &[r#""include_domains":["example.org"]"#]),
        (without_a_site, &[r#""exclude_domains":["example.net"]"#]),
        (in_german, &[r#""country":"germany""#]),
        (news, &[r#""topic":"news""#]),
    ],
};

const TAVILY_KEYLESS: Case = Case {
    name: "tavily_keyless",
    address: "search.tavily_keyless.base_url",
    keys: &[],
    refusals: &[(
        429,
        &[],
        r#"{"error": {"code": "rate_limited", "message": "Slow down.", "window": "day", "retry_after_seconds": 600}}"#,
        Limited(Some(600)),
    )],
    sent: &[
        (of_last_week, &["x-tavily-access-mode: keyless", r#""time_range":"week""#]),
        (of_one_site, &[r#""include_domains":["example.org"]"#]),
        (in_german, &[r#""country":"germany""#]),
        (news, &[r#""topic":"news""#]),
    ],
    ..TAVILY
};

const SEARXNG: Case = Case {
    name: "searxng",
    address: "search.searxng.base_url",
    keys: &[],
    reply: r#"{"query": "pump noise", "results": [
        {"url": "https://example.org/a", "title": "Pumps", "content": "Pumps &amp; their <b>hum</b>.", "engine": "mojeek",
         "engines": ["mojeek"], "positions": [1], "score": 2.5, "publishedDate": "2031-03-10T08:00:00"},
        {"url": "https://example.net/b", "title": null, "content": null, "publishedDate": null},
        {"title": "Nowhere"}], "unresponsive_engines": [["brave", "CAPTCHA"]]}"#,
    hits: &[
        ("https://example.org/a", "Pumps", "Pumps & their hum.", "", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"results": [], "unresponsive_engines": []}"#)],
    refusals: &[
        (403, &[], "<html>Forbidden</html>", Unavailable),
        (200, &[], r#"{"results": [], "unresponsive_engines": [["brave", "CAPTCHA"]]}"#, Unavailable),
        (429, &[("retry-after", "3600")], "Too Many Requests", Limited(Some(3600))),
    ],
    sent: &[
        (of_last_week, &["GET /base/search ", "format=json", "time_range=week", "accept-language: "]),
        (of_one_site, &["q=pump noise limits site:example.org"]),
        (without_a_site, &["q=pump noise limits -site:example.net"]),
        (in_german, &["language=de-DE"]),
        (news, &["categories=news"]),
    ],
};

const BRAVE: Case = Case {
    name: "brave",
    address: "search.brave.base_url",
    keys: &["search.brave.api_key"],
    reply: r#"{"type": "search", "web": {"type": "search", "results": [
        {"title": "Noise &amp; <strong>pumps</strong>", "url": "https://example.org/a", "description": "Pumps hum.",
         "extra_snippets": ["At 60 dB.", 7], "page_age": "2031-03-10T08:00:00", "age": "2 weeks ago"},
        {"title": null, "url": "https://example.net/b", "description": null},
        {"title": "Nowhere", "url": 7}]}}"#,
    hits: &[
        ("https://example.org/a", "Noise & pumps", "Pumps hum.\n\nAt 60 dB.", "", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"type": "search", "query": {"original": "pump noise"}}"#)],
    refusals: &[
        (
            422,
            &[],
            r#"{"type": "ErrorResponse", "error": {"status": 422, "code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "{key} is invalid."}}"#,
            Auth,
        ),
        (
            422,
            &[],
            r#"{"type": "ErrorResponse", "error": {"code": "VALIDATION", "detail": "Query too long."}}"#,
            BadQuery,
        ),
        (
            400,
            &[],
            r#"{"type": "ErrorResponse", "error": {"code": "OPTION_NOT_IN_PLAN", "detail": "No snippets."}}"#,
            Auth,
        ),
        (403, &[], FIREWALL, Unavailable),
        (403, &[], r#"{"error": {"code": "RESOURCE_NOT_IN_SUBSCRIPTION", "detail": "Not for you."}}"#, Auth),
        (
            429,
            &[("x-ratelimit-remaining", "0, 1985"), ("x-ratelimit-reset", "1, 1419704")],
            r#"{"error": {"code": "RATE_LIMITED", "meta": {"rate_limit": 1, "quota_limit": 2000, "quota_current": 15}}}"#,
            Limited(Some(1)),
        ),
        (
            429,
            &[("x-ratelimit-limit", "1, 2000"), ("x-ratelimit-remaining", "0, 0"), ("x-ratelimit-reset", "1, 1419704")],
            r#"{"error": {"code": "RATE_LIMITED"}}"#,
            Quota,
        ),
        (
            429,
            &[("x-ratelimit-limit", "50, 0"), ("x-ratelimit-remaining", "0, 0"), ("x-ratelimit-reset", "1, 0")],
            r#"{"error": {"code": "RATE_LIMITED"}}"#,
            Limited(Some(1)),
        ),
        (
            429,
            &[],
            r#"{"error": {"code": "RATE_LIMITED", "meta": {"rate_limit": 1, "quota_limit": 2000, "quota_current": 2000}}}"#,
            Quota,
        ),
    ],
    sent: &[
        (of_last_week, &["GET /base/web/search ", "freshness=pw", "text_decorations=false", "count=5"]),
        (of_one_site, &["q=pump noise limits site:example.org"]),
        (without_a_site, &["q=pump noise limits -site:example.net"]),
        (in_german, &["search_lang=de", "country=DE"]),
        (in_taiwan, &["search_lang=zh-hant", "country=TW"]),
        (of_many_sites, &["q=pump noise limits (site:s0.eu OR site:s1.eu OR ", " OR site:s23.eu) count=5 "]),
        (without_many_sites, &["q=pump noise limits -site:s0.eu -site:s1.eu ", " -site:s29.eu count=20 "]),
        (news, &["GET /base/news/search "]),
    ],
};

const EXA: Case = Case {
    name: "exa",
    address: "search.exa.base_url",
    keys: &["search.exa.api_key"],
    reply: r#"{"requestId": "r", "results": [
        {"title": "Pumps", "url": "https://example.org/a", "publishedDate": "2031-03-10T00:00:00.000Z", "author": "A. Quill",
         "text": "Pumps hum at 60 dB.", "score": 0.4},
        {"title": null, "url": "https://example.net/b", "publishedDate": null, "text": null},
        {"id": "nowhere"}]}"#,
    hits: &[
        ("https://example.org/a", "Pumps", "Pumps hum at 60 dB.", "Pumps hum at 60 dB.", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"requestId": "r", "results": []}"#)],
    refusals: &[
        (401, &[], r#"{"requestId": "r", "error": "Invalid API key {key}", "tag": "INVALID_API_KEY"}"#, Auth),
        (402, &[], r#"{"requestId": "r", "error": "No credits left", "tag": "NO_MORE_CREDITS"}"#, Quota),
        (403, &[], FIREWALL, Unavailable),
        (403, &[], r#"{"requestId": "r", "error": "Over budget", "tag": "API_KEY_BUDGET_EXCEEDED"}"#, Quota),
        (400, &[], r#"{"requestId": "r", "error": "Bad category", "tag": "INVALID_REQUEST_BODY"}"#, BadQuery),
    ],
    sent: &[
        (of_last_week, &["POST /base/search ", r#""startPublishedDate":"2"#, "T00:00:00.000Z"]),
        (of_one_site, &[r#""includeDomains":["example.org"]"#, r#""numResults":5"#]),
        (without_a_site, &[r#""excludeDomains":["example.net"]"#]),
        (in_german, &[r#""userLocation":"DE""#]),
        (news, &[r#""category":"news""#]),
    ],
};

const SERPER: Case = Case {
    name: "serper",
    address: "search.serper.base_url",
    keys: &["search.serper.api_key"],
    reply: r#"{"searchParameters": {"q": "pump noise"}, "organic": [
        {"title": "Pumps", "link": "https://example.org/a", "snippet": "Pumps hum.", "date": "Mar 10, 2031", "position": 1},
        {"title": null, "link": "https://example.net/b", "position": 2},
        {"title": "Nowhere"}], "peopleAlsoAsk": [{"question": "Why?"}], "credits": 1}"#,
    hits: &[
        ("https://example.org/a", "Pumps", "Pumps hum.", "", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"searchParameters": {"q": "pump noise"}, "organic": []}"#)],
    refusals: &[
        (403, &[], r#"{"message": "Unauthorized. {key}", "statusCode": 403}"#, Auth),
        (403, &[], r#"{"message": "No.", "statusCode": 403}"#, Auth),
        (403, &[], FIREWALL, Unavailable),
        (400, &[], r#"{"message": "Not enough credits", "statusCode": 400}"#, Quota),
        (400, &[], r#"{"message": "Missing query parameter", "statusCode": 400}"#, BadQuery),
    ],
    sent: &[
        (of_last_week, &["POST /base/search ", r#""tbs":"qdr:w""#]),
        (of_one_site, &[r#""q":"pump noise limits site:example.org""#]),
        (without_a_site, &[r#""q":"pump noise limits -site:example.net""#]),
        (in_german, &[r#""hl":"de""#, r#""gl":"de""#]),
        (news, &["POST /base/news "]),
    ],
};

const FIRECRAWL: Case = Case {
    name: "firecrawl",
    address: "search.firecrawl.base_url",
    keys: &["search.firecrawl.api_key"],
    reply: r##"{"success": true, "data": {"web": [
        {"title": "Pumps", "url": "https://example.org/a", "description": "Pumps hum.", "markdown": "# Pumps\n\nAt 60 dB."},
        {"title": null, "url": "https://example.net/b", "markdown": null},
        {"title": "Nowhere"}]}, "creditsUsed": 3}"##,
    hits: &[
        ("https://example.org/a", "Pumps", "Pumps hum.", "# Pumps\n\nAt 60 dB.", None),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"success": true, "data": {"web": []}}"#), (200, r#"{"success": true, "data": {}}"#)],
    refusals: &[
        (401, &[], r#"{"success": false, "error": "Unauthorized: Invalid token {key}"}"#, Auth),
        (402, &[], r#"{"success": false, "error": "Insufficient credits"}"#, Quota),
        (429, &[("retry-after", "12")], r#"{"success": false, "error": "Rate limit exceeded"}"#, Limited(Some(12))),
        (400, &[], r#"{"success": false, "error": "Bad Request"}"#, BadQuery),
    ],
    sent: &[
        (of_last_week, &["POST /base/v2/search ", r#""tbs":"qdr:w""#, r#""limit":5"#]),
        (of_one_site, &[r#""includeDomains":["example.org"]"#]),
        (without_a_site, &[r#""excludeDomains":["example.net"]"#]),
        (in_german, &[r#""country":"DE""#]),
        (news, &[r#""sources":["news"]"#]),
    ],
};

const LINKUP: Case = Case {
    name: "linkup",
    address: "search.linkup.base_url",
    keys: &["search.linkup.api_key"],
    reply: r#"{"results": [
        {"type": "text", "name": "Pumps", "url": "https://example.org/a", "content": "Pumps hum at 60 dB."},
        {"type": "image", "name": "A pump", "url": "https://example.org/a.png"},
        {"type": "text", "name": null, "url": "https://example.net/b", "content": null},
        {"type": "text", "name": "Nowhere"}]}"#,
    hits: &[
        ("https://example.org/a", "Pumps", "Pumps hum at 60 dB.", "Pumps hum at 60 dB.", None),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(
        400,
        r#"{"statusCode": 400, "error": {"code": "SEARCH_QUERY_NO_RESULT", "message": "No result.", "details": []}}"#,
    )],
    refusals: &[
        (401, &[], r#"{"statusCode": 401, "error": {"code": "UNAUTHORIZED", "message": "No key {key}"}}"#, Auth),
        (429, &[], r#"{"error": {"code": "INSUFFICIENT_FUNDS_CREDITS", "message": "No credits"}}"#, Quota),
        (429, &[], r#"{"error": {"code": "TOO_MANY_REQUESTS", "message": "Slow down"}}"#, Limited(None)),
        (400, &[], r#"{"error": {"code": "VALIDATION_ERROR", "message": "Validation failed"}}"#, BadQuery),
    ],
    sent: &[
        (of_last_week, &["POST /base/search ", r#""fromDate":"2"#, r#""maxResults":5"#]),
        (of_one_site, &[r#""includeDomains":["example.org"]"#]),
        (without_a_site, &[r#""excludeDomains":["example.net"]"#]),
    ],
};

const PERPLEXITY: Case = Case {
    name: "perplexity",
    address: "search.perplexity.base_url",
    keys: &["search.perplexity.api_key"],
    reply: r#"{"id": "s", "results": [
        {"title": "Pumps", "url": "https://example.org/a", "snippet": "Pumps hum at 60 dB.", "date": "2031-03-10",
         "last_updated": "2031-04-01"},
        {"title": null, "url": "https://example.net/b", "snippet": null, "date": null},
        {"title": "Nowhere"}]}"#,
    hits: &[
        ("https://example.org/a", "Pumps", "Pumps hum at 60 dB.", "Pumps hum at 60 dB.", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"id": "s", "results": []}"#)],
    refusals: &[
        (401, &[], r#"{"error": {"message": "Invalid API key {key}", "type": "invalid_api_key", "code": 401}}"#, Auth),
        (400, &[], r#"{"error": {"message": "Bad country", "type": "bad_request", "code": 400}}"#, BadQuery),
    ],
    sent: &[
        (of_last_week, &["POST /base/search ", r#""search_recency_filter":"week""#, r#""max_results":5"#]),
        (of_one_site, &[r#""search_domain_filter":["example.org"]"#]),
        (without_a_site, &[r#""search_domain_filter":["-example.net"]"#]),
        (in_german, &[r#""search_language_filter":["de"]"#, r#""country":"DE""#]),
    ],
};

const JINA: Case = Case {
    name: "jina",
    address: "search.jina.base_url",
    keys: &["search.jina.api_key"],
    reply: r#"{"code": 200, "status": 20000, "data": [
        {"title": "Pumps", "url": "https://example.org/a", "description": "Pumps hum.", "date": "Mar 10, 2031"},
        {"title": null, "url": "https://example.net/b", "description": null},
        {"title": "Nowhere"}]}"#,
    hits: &[
        ("https://example.org/a", "Pumps", "Pumps hum.", "", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(
        422,
        r#"{"code": 422, "name": "AssertionFailureError", "readableMessage": "No search results available"}"#,
    )],
    refusals: &[
        (401, &[], r#"{"code": 401, "name": "AuthenticationRequiredError", "readableMessage": "Bad key {key}"}"#, Auth),
        (403, &[], FIREWALL, Unavailable),
        (402, &[], r#"{"code": 402, "name": "InsufficientBalanceError", "readableMessage": "No balance"}"#, Quota),
    ],
    sent: &[
        (of_one_site, &["GET /base/ ", "q=pump noise limits site:example.org", "x-respond-with: no-content"]),
        (without_a_site, &["q=pump noise limits -site:example.net"]),
        (in_german, &["hl=de", "gl=de"]),
        (news, &["type=news"]),
    ],
};

const KAGI: Case = Case {
    name: "kagi",
    address: "search.kagi.base_url",
    keys: &["search.kagi.api_key"],
    reply: r#"{"meta": {"trace": "t"}, "data": {"search": [
        {"title": "Pumps", "url": "https://example.org/a", "snippet": "Pumps &#39;hum&#39;.", "time": "2031-03-10T00:00:00Z"},
        {"title": null, "url": "https://example.net/b", "snippet": null},
        {"title": "Nowhere"}]}}"#,
    hits: &[
        ("https://example.org/a", "Pumps", "Pumps 'hum'.", "", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"meta": {"trace": "t"}, "data": {}}"#)],
    refusals: &[
        (401, &[], r#"{"meta": {}, "error": [{"code": "auth", "message": "Unauthorized {key}"}]}"#, Auth),
        (400, &[], r#"{"meta": {}, "error": [{"code": "bad", "message": "Bad region"}]}"#, BadQuery),
    ],
    sent: &[
        (of_last_week, &["POST /base/search ", r#""filters":{"after":"2"#, r#""limit":5"#]),
        (of_one_site, &[r#""query":"pump noise limits site:example.org""#]),
        (without_a_site, &[r#""query":"pump noise limits -site:example.net""#]),
        (in_german, &[r#""region":"de""#]),
        (news, &[r#""workflow":"news""#]),
    ],
};

const MOJEEK: Case = Case {
    name: "mojeek",
    address: "search.mojeek.base_url",
    keys: &["search.mojeek.api_key"],
    reply: r#"{"response": {"status": "OK", "results": [
        {"title": "Pumps", "url": "https://example.org/a", "desc": "Pumps hum.", "pdate": "2031-03-10"},
        {"title": null, "url": "https://example.net/b", "desc": null},
        {"title": "Nowhere"}]}}"#,
    hits: &[
        ("https://example.org/a", "Pumps", "Pumps hum.", "", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"response": {"status": "OK", "head": {"results": 0}}}"#)],
    refusals: &[
        (403, &[], r#"{"response": {"status": "Forbidden"}}"#, Auth),
        (403, &[], FIREWALL, Unavailable),
        (200, &[], r#"{"response": {"status": "ERROR: Daily Limit Reached"}}"#, Quota),
        (200, &[], r#"{"response": {"status": "ERROR: Invalid API Key k3y-of-a-test"}}"#, Auth),
        (200, &[], r#"{"response": {"status": "ERROR: Down"}}"#, Unavailable),
    ],
    sent: &[
        (of_last_week, &["GET /base/search ", "fmt=json", "t=5", "since=2"]),
        (of_one_site, &["q=pump noise limits site:example.org"]),
        (without_a_site, &["q=pump noise limits -site:example.net"]),
        (in_german, &["lb=DE", "rb=DE"]),
    ],
};

const WIKIPEDIA: Case = Case {
    name: "wikipedia",
    address: "search.wikipedia.base_url",
    keys: &[],
    reply: r#"{"batchcomplete": true, "query": {"pages": [
        {"pageid": 8, "index": 2, "title": "Noise", "extract": null, "canonicalurl": "https://example.net/b"},
        {"pageid": 9, "index": 3, "title": "Pump (disambiguation)", "extract": "Pump may refer to:", "canonicalurl": "https://example.net/c"},
        {"pageid": 7, "index": 1, "title": "Pump", "extract": "A pump moves fluids.", "canonicalurl": "https://example.org/a"},
        {"pageid": 6, "title": "Nowhere"}]}}"#,
    hits: &[
        ("https://example.org/a", "Pump", "A pump moves fluids.", "", None),
        ("https://example.net/b", "Noise", "", "", None),
    ],
    empty: &[(200, r#"{"batchcomplete": true}"#)],
    refusals: &[
        (403, &[], "Please set a user-agent and respect our robot policy.", Unavailable),
        (200, &[], r#"{"error": {"code": "internal_api_error", "info": "Caught exception"}}"#, Unavailable),
    ],
    sent: &[(in_german, &["GET /base/w/api.php ", "gsrsearch=pump noise limits", "gsrlimit=5", "user-agent: fathom/"])],
};

const ARXIV: Case = Case {
    name: "arxiv",
    address: "search.arxiv.base_url",
    keys: &[],
    reply: r#"<?xml version="1.0" encoding="UTF-8"?>
        <feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom">
        <title>ArXiv Query: pump noise</title><id>http://arxiv.org/api/x</id>
        <entry><id>http://arxiv.org/abs/3103.00001v2</id><published>2031-03-10T08:00:00Z</published>
        <title>Noise &amp; pumps:
          $P \pm 3$</title><summary>  Pumps hum
          at 60 dB.
        </summary><author><name>A. Quill</name><title>Dr</title></author><author><name>B. Tey</name></author><link href="http://arxiv.org/pdf/3103.00001v2" title="pdf"/></entry>
        <entry><id>https://example.net/b</id></entry>
        <entry><title>Nowhere</title></entry></feed>"#,
    hits: &[
        (
            "https://arxiv.org/abs/3103.00001v2",
            "Noise & pumps: $P \\pm 3$",
            "Pumps hum at 60 dB.",
            "",
            Some("2031-03-10"),
        ),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>ArXiv Query</title></feed>"#)],
    refusals: &[(
        200,
        &[],
        r#"<feed><entry><id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>start must be an integer</summary></entry></feed>"#,
        BadQuery,
    )],
    sent: &[(
        of_last_week,
        &[
            "GET /base/api/query ",
            "search_query=all:pump AND all:noise AND all:limits AND submittedDate:[2",
            "max_results=5",
        ],
    )],
};

const OPENALEX: Case = Case {
    name: "openalex",
    address: "search.openalex.base_url",
    keys: &["search.openalex.api_key"],
    reply: r#"{"meta": {"count": 2}, "results": [
        {"display_name": "Noise of <i>pumps</i>", "doi": "https://doi.org/10.1234/ABC", "publication_date": "2031-03-10",
         "abstract_inverted_index": {"Pumps": [0], "are": [1, 4], "loud": [2], "and": [3], "heavy": [5], "odd": "x"},
         "primary_location": {"landing_page_url": "https://example.org/a", "pdf_url": null}, "is_retracted": true,
         "authorships": [{"author": {"display_name": "A. Quill"}}, {"author": null}, {"author": {"display_name": "B. Tey"}}]},
        {"display_name": null, "doi": "https://example.net/b", "abstract_inverted_index": null, "primary_location": null},
        {"display_name": "Nowhere"}]}"#,
    hits: &[
        ("https://example.org/a", "Noise of pumps (retracted)", "Pumps are loud and are heavy", "", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"meta": {"count": 0}, "results": []}"#)],
    refusals: &[
        (429, &[], r#"{"error": "Rate limit exceeded", "message": "Slow down, {key}"}"#, Limited(None)),
        (429, &[], r#"{"error": "Budget exceeded", "message": "See pricing"}"#, Quota),
        (403, &[], r#"{"error": "Invalid API key", "message": "{key}"}"#, Auth),
    ],
    sent: &[
        (
            of_last_week,
            &["GET /base/works ", "search=pump noise limits", "per_page=5", "filter=from_publication_date:2"],
        ),
        (in_german, &["filter=language:de"]),
    ],
};

const PUBMED: Case = Case {
    name: "pubmed",
    address: "search.pubmed.base_url",
    keys: &[],
    reply: r#"{"version": "6.9", "hitCount": 2, "resultList": {"result": [
        {"id": "40000001", "source": "MED", "pmid": "40000001", "title": "Noise of pumps.",
         "journalInfo": {"journal": {"title": "Journal of Pumps"}}, "abstractText": "<h4>Aim</h4>Pumps hum.",
         "firstPublicationDate": "2031-03-10", "authorString": "Quill A, Tey B."},
        {"id": "40000002", "pmid": "40000002", "title": null, "abstractText": null},
        {"id": "PPR1", "source": "PPR", "title": "No number"}]}}"#,
    hits: &[
        (
            "https://pubmed.ncbi.nlm.nih.gov/40000001/",
            "Noise of pumps.",
            "Journal of Pumps.\n\nAim\nPumps hum.",
            "",
            Some("2031-03-10"),
        ),
        ("https://pubmed.ncbi.nlm.nih.gov/40000002/", "pubmed.ncbi.nlm.nih.gov", "", "", None),
    ],
    empty: &[(200, r#"{"version": "6.9", "hitCount": 0, "resultList": {"result": []}}"#)],
    refusals: &[(200, &[], r#"{"version": "6.9", "errCode": 404, "errMsg": "Invalid query"}"#, Unavailable)],
    sent: &[(
        of_last_week,
        &[
            "GET /base/search ",
            "query=(pump noise limits) AND SRC:MED AND FIRST_PDATE:[2",
            "pageSize=5",
            "resultType=core",
        ],
    )],
};

const SEMANTIC_SCHOLAR: Case = Case {
    name: "semantic_scholar",
    address: "search.semantic_scholar.base_url",
    keys: &["search.semantic_scholar.api_key"],
    reply: r#"{"total": 120, "offset": 0, "next": 10, "data": [
        {"paperId": "f0", "url": "https://example.org/a", "title": "Noise", "abstract": null,
         "tldr": {"model": "tldr@v2", "text": "Pumps hum."}, "publicationDate": "2031-03-10",
         "authors": [{"authorId": "1", "name": "A. Quill"}, {"authorId": null, "name": null}]},
        {"paperId": "f1", "url": "https://example.net/b", "title": null, "abstract": null, "tldr": null},
        {"paperId": "f2", "title": "Nowhere"}]}"#,
    hits: &[
        ("https://example.org/a", "Noise", "Pumps hum.", "", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"total": 0, "offset": 0}"#)],
    refusals: &[
        (403, &[], r#"{"message": "Forbidden"}"#, Auth),
        (403, &[], FIREWALL, Unavailable),
        (429, &[], r#"{"message": "Too Many Requests", "code": "429"}"#, Limited(None)),
        (400, &[], r#"{"error": "Unrecognized or unsupported fields"}"#, BadQuery),
    ],
    sent: &[(
        of_last_week,
        &["GET /base/paper/search ", "query=pump noise limits", "limit=5", "publicationDateOrYear=2"],
    )],
};

const CROSSREF: Case = Case {
    name: "crossref",
    address: "search.crossref.base_url",
    keys: &[],
    reply: r#"{"status": "ok", "message-type": "work-list", "message": {"items": [
        {"DOI": "10.1234/abc", "URL": "https://example.org/a", "title": ["Noise of pumps"], "type": "journal-article",
         "published": {"date-parts": [[2031, 3, 10]]}, "container-title": ["Journal of Pumps"],
         "author": [{"given": "Ada", "family": "Quill"}, {"name": "The Pump Group"}],
         "abstract": "<jats:p>Pumps <jats:italic>hum</jats:italic>.</jats:p>"},
        {"DOI": "10.1234/abc.f1", "URL": "https://example.org/f1", "title": ["Figure 1"], "type": "component"},
        {"URL": "https://example.net/b", "title": [], "published": {"date-parts": [[2031]]}},
        {"title": ["Nowhere"]}]}}"#,
    hits: &[
        ("https://example.org/a", "Noise of pumps", "Journal of Pumps.\n\nPumps hum.", "", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"status": "ok", "message": {"items": [], "total-results": 0}}"#)],
    refusals: &[(400, &[], r#"{"status": "failed", "message": [{"type": "parameter-not-allowed"}]}"#, BadQuery)],
    sent: &[(
        of_last_week,
        &["GET /base/works ", "query.bibliographic=pump noise limits", "rows=5", "filter=from-pub-date:2"],
    )],
};

const GITHUB: Case = Case {
    name: "github",
    address: "search.github.base_url",
    keys: &["search.github.token"],
    reply: r#"{"total_count": 2, "incomplete_results": false, "items": [
        {"full_name": "acme/pumps", "html_url": "https://example.org/a", "description": "Pumps hum.",
         "pushed_at": "2031-03-10T08:00:00Z", "score": 1.0},
        {"full_name": null, "html_url": "https://example.net/b", "description": null},
        {"full_name": "nowhere"}]}"#,
    hits: &[
        ("https://example.org/a", "acme/pumps", "Pumps hum.", "", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"total_count": 0, "incomplete_results": false, "items": []}"#)],
    refusals: &[
        (401, &[], r#"{"message": "Bad credentials"}"#, Auth),
        (
            403,
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1000000000")],
            r#"{"message": "API rate limit exceeded"}"#,
            Limited(Some(0)),
        ),
        (
            403,
            &[("retry-after", "60")],
            r#"{"message": "You have exceeded a secondary rate limit"}"#,
            Limited(Some(60)),
        ),
        (422, &[], r#"{"message": "Validation Failed"}"#, BadQuery),
    ],
    sent: &[(of_last_week, &["GET /base/search/repositories ", "q=pump noise limits pushed:>=2", "per_page=5"])],
};

const STACKEXCHANGE: Case = Case {
    name: "stackexchange",
    address: "search.stackexchange.base_url",
    keys: &["search.stackexchange.api_key"],
    reply: r#"{"items": [
        {"title": "Why do &quot;pumps&quot; hum?", "link": "https://example.org/a", "body": "<p>They do.</p>",
         "creation_date": 1930000000, "is_answered": true,
         "owner": {"display_name": "Ada &amp; Co"}},
        {"title": null, "link": "https://example.net/b", "body": null},
        {"title": "Nowhere"}], "has_more": false, "quota_remaining": 299}"#,
    hits: &[
        ("https://example.org/a", "Why do \"pumps\" hum?", "They do.", "", Some("2031-02-27")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(200, r#"{"items": [], "has_more": false}"#)],
    refusals: &[
        (
            400,
            &[],
            r#"{"error_id": 502, "error_name": "throttle_violation", "error_message": "too many requests from this IP, more requests available in 30 seconds"}"#,
            Limited(Some(30)),
        ),
        (400, &[], r#"{"error_id": 405, "error_name": "key_required", "error_message": "Bad key {key}"}"#, Auth),
        (400, &[], r#"{"error_id": 400, "error_name": "bad_parameter", "error_message": "site"}"#, BadQuery),
        (
            400,
            &[],
            r#"{"error_id": 400, "error_name": "bad_parameter", "error_message": "`key` doesn't match a known application"}"#,
            Auth,
        ),
    ],
    sent: &[(of_last_week, &["GET /base/search/advanced ", "q=pump noise limits", "site=stackoverflow", "fromdate="])],
};

const HACKERNEWS: Case = Case {
    name: "hackernews",
    address: "search.hackernews.base_url",
    keys: &[],
    reply: r#"{"hits": [
        {"objectID": "1", "title": "Pumps", "url": "https://example.org/a", "story_text": null, "created_at": "2031-03-10T08:00:00Z"},
        {"objectID": "2", "title": "Ask HN: Why do pumps hum?", "url": null, "story_text": "They&#x27;re <p>loud.", "created_at": "2031-03-09T08:00:00Z"},
        {"title": "Nowhere"}], "nbHits": 2}"#,
    hits: &[
        ("https://example.org/a", "Pumps", "", "", Some("2031-03-10")),
        (
            "https://news.ycombinator.com/item?id=2",
            "Ask HN: Why do pumps hum?",
            "They're\nloud.",
            "",
            Some("2031-03-09"),
        ),
    ],
    empty: &[(200, r#"{"hits": [], "nbHits": 0}"#)],
    refusals: &[(400, &[], r#"{"message": "Invalid numericFilters", "status": 400}"#, BadQuery)],
    sent: &[
        (
            of_last_week,
            &["GET /base/search ", "query=pump noise limits", "hitsPerPage=5", "numericFilters=created_at_i>="],
        ),
        // It restricts no sites, so most of what it finds may be thrown away.
        (of_one_site, &["hitsPerPage=20"]),
    ],
};

const OPENAI: Case = Case {
    name: "openai",
    address: "providers.openai.base_url",
    keys: &["providers.openai.api_key"],
    reply: r#"{"id": "resp_1", "object": "response", "status": "completed", "error": null, "output": [
        {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "pump noise",
         "sources": [{"type": "url", "url": "https://example.org/a"}, {"type": "url", "url": "https://example.net/b"}, {"type": "url"}]}},
        {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "output_text",
         "text": "Pumps hum at 60 dB ([example.org](https://example.org/a?utm_source=openai)).",
         "annotations": [{"type": "url_citation", "url": "https://example.org/a?utm_source=openai", "title": "Pumps",
          "start_index": 19, "end_index": 75}, {"type": "url_citation"}]}]}],
        "usage": {"input_tokens": 9000, "output_tokens": 60, "total_tokens": 9060}}"#,
    hits: &[
        ("https://example.org/a", "Pumps", "Pumps hum at 60 dB", "", None),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(
        200,
        r#"{"status": "completed", "output": [{"type": "web_search_call", "status": "completed", "action": {"type": "search", "sources": []}},
            {"type": "message", "content": [{"type": "output_text", "text": "Nothing was found.", "annotations": []}]}]}"#,
    )],
    refusals: &[
        (
            401,
            &[],
            r#"{"error": {"message": "Incorrect API key provided: {key}.", "type": "invalid_request_error", "code": "invalid_api_key"}}"#,
            Auth,
        ),
        (
            429,
            &[],
            r#"{"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota", "code": "insufficient_quota"}}"#,
            Quota,
        ),
        (
            429,
            &[("retry-after", "7")],
            r#"{"error": {"message": "Rate limit reached.", "code": "rate_limit_exceeded"}}"#,
            Limited(Some(7)),
        ),
        (
            400,
            &[],
            r#"{"error": {"message": "Hosted tool 'web_search' is not supported with this model.", "type": "invalid_request_error"}}"#,
            BadQuery,
        ),
        (
            200,
            &[],
            r#"{"status": "failed", "error": {"code": "server_error", "message": "It failed."}, "output": []}"#,
            Unavailable,
        ),
        (
            200,
            &[],
            r#"{"status": "completed", "error": null, "output": [{"type": "message", "content": []}]}"#,
            Unavailable,
        ),
    ],
    sent: &[
        (
            of_one_site,
            &[
                "POST /base/responses ",
                r#""filters":{"allowed_domains":["example.org"]}"#,
                r#""user_location":{"type":"approximate"}"#,
                r#""store":false"#,
                r#""max_tool_calls":1"#,
            ],
        ),
        (in_german, &[r#""user_location":{"type":"approximate","country":"DE"}"#]),
    ],
};

const ANTHROPIC: Case = Case {
    name: "anthropic",
    address: "providers.anthropic.base_url",
    keys: &["providers.anthropic.api_key"],
    reply: r#"{"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn", "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "pump noise"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
         {"type": "web_search_result", "url": "https://example.net/b", "title": null, "page_age": null, "encrypted_content": "eA=="},
         {"type": "web_search_result", "url": "https://example.org/a", "title": "Pumps", "page_age": "March 10, 2031", "encrypted_content": "eA=="},
         {"type": "web_search_result", "title": "Nowhere"}]},
        {"type": "text", "text": "Pumps are loud.", "citations": [{"type": "web_search_result_location", "url": "https://example.org/a",
         "title": "Pumps", "cited_text": "Pumps hum at 60 dB.", "encrypted_index": "eA=="}]}],
        "usage": {"input_tokens": 9000, "output_tokens": 60, "server_tool_use": {"web_search_requests": 1}}}"#,
    hits: &[
        ("https://example.org/a", "Pumps", "Pumps hum at 60 dB.", "", Some("2031-03-10")),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[
        (
            200,
            r#"{"stop_reason": "end_turn", "content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}, {"type": "text", "text": "Nothing."}]}"#,
        ),
        (
            200,
            r#"{"stop_reason": "end_turn", "content": [{"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
            {"type": "web_search_tool_result", "tool_use_id": "t", "content":
                {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}}]}"#,
        ),
    ],
    refusals: &[
        (
            401,
            &[],
            r#"{"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key {key}"}}"#,
            Auth,
        ),
        (
            400,
            &[],
            r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low."}}"#,
            Quota,
        ),
        (
            429,
            &[],
            r#"{"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down.", "details": {"error_code": "enforced_spend_limit_reached"}}}"#,
            Quota,
        ),
        (529, &[], r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#, Unavailable),
        (
            200,
            &[],
            r#"{"stop_reason": "end_turn", "content": [{"type": "web_search_tool_result", "content": {"type": "web_search_tool_result_error", "error_code": "too_many_requests"}}]}"#,
            Limited(None),
        ),
        (
            200,
            &[],
            r#"{"stop_reason": "end_turn", "content": [{"type": "web_search_tool_result", "content": {"type": "web_search_tool_result_error", "error_code": "query_too_long"}}]}"#,
            BadQuery,
        ),
        (
            200,
            &[],
            r#"{"stop_reason": "end_turn", "content": [{"type": "text", "text": "From memory."}]}"#,
            Unavailable,
        ),
    ],
    sent: &[
        (
            of_one_site,
            &[
                "POST /base/v1/messages ",
                r#""allowed_domains":["example.org"]"#,
                r#""max_uses":1"#,
                "anthropic-version: 2023-06-01",
            ],
        ),
        (without_a_site, &[r#""blocked_domains":["example.net"]"#]),
        (in_german, &[r#""user_location":{"type":"approximate","country":"DE"}"#]),
    ],
};

const GOOGLE: Case = Case {
    name: "google",
    address: "providers.google.base_url",
    keys: &["providers.google.api_key"],
    reply: r#"{"candidates": [{"content": {"role": "model", "parts": [{"text": "Hm.", "thought": true}, {"text": "Die Pumpe ist größer. Pumps hum at 60 dB."}]},
        "finishReason": "STOP", "groundingMetadata": {"webSearchQueries": ["pump noise", "pump dB", "pump noise"],
         "groundingChunks": [{"web": {"uri": "https://example.net/b"}}, {"web": {"uri": "https://example.org/a", "title": "example.org"}},
          {"web": {"title": "Nowhere"}}, {"web": {"uri": "https://www.google.com/search?q=weather", "title": "Weather"}}],
         "groundingSupports": [{"segment": {"startIndex": 24, "endIndex": 43}, "groundingChunkIndices": [1, 99]},
          {"segment": {"text": "Nobody said so."}, "groundingChunkIndices": [3]}]}}],
        "usageMetadata": {"promptTokenCount": 20, "toolUsePromptTokenCount": 80, "candidatesTokenCount": 30, "thoughtsTokenCount": 10}}"#,
    hits: &[
        ("https://example.org/a", "example.org", "Pumps hum at 60 dB.", "", None),
        ("https://example.net/b", "example.net", "", "", None),
    ],
    empty: &[(
        200,
        r#"{"candidates": [{"content": {"parts": [{"text": "Nothing."}]}, "groundingMetadata": {"webSearchQueries": ["x"]}}]}"#,
    )],
    refusals: &[
        (
            400,
            &[],
            r#"{"error": {"code": 400, "message": "API key not valid: {key}", "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}"#,
            Auth,
        ),
        (
            429,
            &[],
            r#"{"error": {"code": 429, "message": "Quota", "details": [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}]}}"#,
            Quota,
        ),
        (
            429,
            &[],
            r#"{"error": {"code": 429, "message": "Slow", "details": [{"retryDelay": "14s"}]}}"#,
            Limited(Some(14)),
        ),
        (400, &[], r#"{"error": {"code": 400, "message": "Search is not supported by this model."}}"#, BadQuery),
        (200, &[], r#"{"promptFeedback": {"blockReason": "SAFETY"}}"#, BadQuery),
        (200, &[], r#"{"candidates": [{"content": {"parts": [{"text": "From memory."}]}}]}"#, Unavailable),
    ],
    sent: &[(
        of_last_week,
        &["POST /base/models/", ":generateContent", r#""googleSearch":{"timeRangeFilter":{"startTime":"2"#],
    )],
};
