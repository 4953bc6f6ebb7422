//! One spelling per page, so that a page met under several is one source.

use url::Url;

use super::redact;

/// Returns the spelling of `url` under which duplicates meet.
///
/// Scheme and host in lower case, no user and password, no default port, no fragment, no tracking parameters (`utm_*`,
/// `gclid`, `fbclid`, …). The order of the other parameters stays, and a `/` at the end of the path: servers may care.
/// What is no `http(s)` URL comes back trimmed and otherwise unchanged: for a local document the fragment
/// (`#page=3`) tells one passage from another.
pub fn canonical_url(url: &str) -> String {
    let trimmed = url.trim();
    match Url::parse(trimmed) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => canonical(parsed),
        _ => trimmed.to_owned(),
    }
}

/// Returns the address without a `/` at the end of its path: with and without it, most servers have the same page.
/// For comparing only.
pub fn without_last_slash(url: &str) -> String {
    let (path, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    format!("{}{query}", path.trim_end_matches('/'))
}

/// Returns the key under which addresses of one page meet that are too different to be one spelling: with or without
/// `www.` or TLS, or a `/` at the end, of a mobile site, of a paper on arXiv as abstract or PDF in any version, of a
/// DOI, with or without escapes. For comparing only: nothing is found at a key.
pub fn same_page(address: &str) -> String {
    let canonical = canonical_url(address);
    let Some((_, rest)) = canonical.split_once("://") else { return canonical };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.strip_prefix("www.").unwrap_or(host).replace(".m.wikipedia.org", ".wikipedia.org");
    let mobile = ["m.", "mobile."].iter().find_map(|start| host.strip_prefix(start));
    let host = mobile.filter(|rest| rest.contains('.')).map(str::to_owned).unwrap_or(host);
    let path = &unescaped(&without_last_slash(path));
    let path = match path.rsplit_once('/').unwrap_or(("", path)) {
        (folder, "index.html" | "index.htm" | "index.php") => folder,
        _ => path,
    };
    if let Some(id) = paper(&host, path) {
        return format!("arxiv:{id}");
    }
    if matches!(host.as_str(), "doi.org" | "dx.doi.org") {
        return format!("doi:{}", path.replace("%2F", "/").to_ascii_lowercase());
    }
    format!("{host}/{}", path.trim_end_matches('/'))
}

/// Returns the number of a paper on arXiv, without its version.
fn paper<'a>(host: &str, path: &'a str) -> Option<&'a str> {
    let path = match host {
        "arxiv.org" | "export.arxiv.org" | "ar5iv.org" | "ar5iv.labs.arxiv.org" => path,
        "doi.org" | "dx.doi.org" => {
            return path.strip_prefix("10.48550/arXiv.").or(path.strip_prefix("10.48550/arxiv."));
        }
        _ => return None,
    };
    let path = path.split('?').next().unwrap_or(path);
    let id = ["abs/", "pdf/", "html/"].iter().find_map(|kind| path.strip_prefix(kind))?;
    let id = id.strip_suffix(".pdf").unwrap_or(id);
    let is_version = |version: &str| !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    Some(id.rsplit_once('v').filter(|(_, version)| is_version(version)).map_or(id, |(id, _)| id))
}

/// Returns a path and query with its escapes resolved, but for those whose character would mean something else there.
fn unescaped(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, more @ ..] = rest {
        let escape = || u8::from_str_radix(std::str::from_utf8(more.get(..2)?).ok()?, 16).ok();
        let escape = if *first == b'%' { escape() } else { None };
        match escape {
            Some(byte) if b"%/?#&=+".contains(&byte) || byte.is_ascii_control() => {
                bytes.extend(format!("%{byte:02X}").bytes());
            }
            Some(byte) => bytes.push(byte),
            None => bytes.push(*first),
        }
        rest = if escape.is_some() { more.get(2..).unwrap_or_default() } else { more };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn canonical(mut url: Url) -> String {
    redact::remove_user(&mut url);
    url.set_fragment(None);
    if url.query().is_some() {
        let query = without_tracking(url.query().unwrap_or_default());
        url.set_query((!query.is_empty()).then_some(query.as_str()));
    }
    url.into()
}

/// Returns the query as written, minus tracking; parameters are not decoded, so what stays is byte for byte the same.
fn without_tracking(query: &str) -> String {
    let kept: Vec<_> = query.split('&').filter(|pair| !pair.is_empty() && !is_tracking(pair)).collect();
    kept.join("&")
}

fn is_tracking(pair: &str) -> bool {
    const PREFIXES: [&str; 10] = ["utm_", "pk_", "mtm_", "matomo_", "piwik_", "hsa_", "_hs", "__hs", "oly_", "vero_"];
    const NAMES: [&str; 29] = [
        "gclid",
        "gclsrc",
        "dclid",
        "gbraid",
        "wbraid",
        "gad_source",
        "srsltid",
        "fbclid",
        "mibextid",
        "msclkid",
        "twclid",
        "ttclid",
        "li_fat_id",
        "igshid",
        "igsh",
        "yclid",
        "ysclid",
        "_openstat",
        "mc_cid",
        "mc_eid",
        "mkt_tok",
        "wickedid",
        "rb_clickid",
        "epik",
        "cmpid",
        "ncid",
        "_ga",
        "_gl",
        "guccounter",
    ];
    let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_page_meet() {
        let check = |input: &str, expected: &str| assert_eq!(canonical_url(input), expected, "{input}");
        check("HTTPS://Example.COM:443/a/b#top", "https://example.com/a/b");
        check("http://example.com:80", "http://example.com/");
        check("http://example.com:8080/", "http://example.com:8080/");
        check("https://example.com/a?utm_source=x&b=2&a=1&fbclid=y", "https://example.com/a?b=2&a=1");
        check("https://example.com/a?UTM_Medium=x", "https://example.com/a");
        check("https://example.com/a?q=a%20b+c", "https://example.com/a?q=a%20b+c");
        check("https://example.com/A/?utm_source=x", "https://example.com/A/");
        check("https://example.com/?q=1#x", "https://example.com/?q=1");
        check("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC");
    }

    #[test]
    fn addresses_of_one_page_have_one_key() {
        let check = |input: &str, expected: &str| assert_eq!(same_page(input), expected, "{input}");
        check("http://www.example.com/a/?utm_source=x", "example.com/a");
        check("https://example.com/a/", "example.com/a");
        check("https://example.com/a/?q=/b", "example.com/a?q=/b");
        check("https://example.com/index.html", "example.com/");
        check("https://example.com/a/index.php", "example.com/a");
        check("https://example.com/book-index.html", "example.com/book-index.html");
        check("https://de.m.wikipedia.org/wiki/Pumpe", "de.wikipedia.org/wiki/Pumpe");
        check("https://m.example.com/a", "example.com/a");
        check("https://m.test/a", "m.test/a");
        check("https://example.com/wiki/Tide_%28sea%29?q=%c3%bc%26x", "example.com/wiki/Tide_(sea)?q=ü%26x");
        check("https://example.com/100%/%zz%2", "example.com/100%/%zz%2");
        check("https://doi.org/10.1234%2Fabc", "doi:10.1234/abc");
        check("https://arxiv.org/abs/3103.00001?context=cs", "arxiv:3103.00001");
        check("https://ar5iv.labs.arxiv.org/html/3103.00001", "arxiv:3103.00001");
        check("https://arxiv.org/abs/3103.00001v2", "arxiv:3103.00001");
        check("http://export.arxiv.org/pdf/3103.00001.pdf", "arxiv:3103.00001");
        check("https://doi.org/10.48550/arXiv.3103.00001", "arxiv:3103.00001");
        check("https://arxiv.org/abs/solv-int/9701001", "arxiv:solv-int/9701001");
        check("https://dx.doi.org/10.1234/ABC", "doi:10.1234/abc");
        check("https://example.com/?v=2", "example.com/?v=2");
        check("minutes/april.pdf#page=3", "minutes/april.pdf#page=3");
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
