//! What a site asks of programs (RFC 9309).

use reqwest::StatusCode;
use robotstxt::DefaultMatcher;
use url::Url;

use super::NotRead;
use crate::net;

/// The name by which sites address us.
const AGENT: &str = "fathom";
/// What is read of a robots.txt.
const MAX_BYTES: usize = 500 * 1024;
/// Redirects of a robots.txt, within its host.
const MAX_REDIRECTS: usize = 5;

/// The rules of one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Robots {
    Free,
    Rules(String),
}

/// Fetches the rules of the origin of `url`. Where there are none, all pages are free.
///
/// # Errors
/// The site fails, so nothing of it may be read now.
pub(super) async fn fetch(
    client: &reqwest::Client,
    url: &Url,
    may_call: impl Fn(&Url) -> bool,
) -> Result<Robots, NotRead> {
    let broken = |why: String| NotRead::new(format!("its site's robots.txt cannot be had: {why}"));
    let mut place = url.join("/robots.txt").map_err(|error| broken(error.to_string()))?;
    for _ in 0..=MAX_REDIRECTS {
        let answer =
            client.get(place.clone()).send().await.map_err(|error| broken(net::Error::from(error).to_string()))?;
        let status = answer.status();
        if status.is_redirection() {
            let location = answer.headers().get(reqwest::header::LOCATION).and_then(|place| place.to_str().ok());
            match location.and_then(|location| place.join(location).ok()) {
                // Another host's rules are not this one's, and what a page could not be read from is not called for
                // them.
                Some(next) if is_beside(&next, &place) && may_call(&next) => place = next,
                _ => return Ok(Robots::Free),
            }
            continue;
        }
        return match status {
            StatusCode::TOO_MANY_REQUESTS => Err(broken(status.to_string())),
            status if status.is_server_error() => Err(broken(status.to_string())),
            status if !status.is_success() => Ok(Robots::Free),
            _ => Ok(match net::read_body(answer, MAX_BYTES).await {
                Ok(body) => Robots::Rules(String::from_utf8_lossy(&body).into_owned()),
                // Far more rules than anybody needs are no rules.
                Err(net::Error::TooLarge { .. }) => Robots::Free,
                Err(error) => return Err(broken(error.to_string())),
            }),
        };
    }
    Ok(Robots::Free)
}

/// Returns whether it is of the same host.
fn is_beside(next: &Url, place: &Url) -> bool {
    next.host_str() == place.host_str() && next.scheme().starts_with("http")
}

impl Robots {
    /// Returns whether this page may be read. A hostile pattern takes long to match, so it is matched beside the
    /// runtime's threads.
    pub(super) async fn allows(&self, url: &Url) -> bool {
        let Self::Rules(rules) = self else { return true };
        let (rules, url) = (rules.clone(), url.to_string());
        let matched = tokio::task::spawn_blocking(move || {
            DefaultMatcher::default().one_agent_allowed_by_robots(&rules, AGENT, &url)
        });
        matched.await.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn rules_are_those_for_us_or_for_all() {
        let rules = |text: &str| Robots::Rules(text.to_owned());
        let check = async |robots: Robots, path: &str, expected: bool| {
            let url = Url::parse("https://a.test").unwrap().join(path).unwrap();
            assert_eq!(robots.allows(&url).await, expected, "{robots:?} {path}");
        };
        check(Robots::Free, "/x", true).await;
        check(rules("User-agent: *\nDisallow: /private\nAllow: /private/open"), "/private/x", false).await;
        check(rules("User-agent: *\nDisallow: /private\nAllow: /private/open"), "/private/open/x", true).await;
        check(rules("User-agent: *\nDisallow: /\n\nUser-agent: Fathom\nDisallow: /no"), "/yes", true).await;
        check(rules("User-agent: *\nDisallow: /*.pdf$"), "/a.pdf", false).await;
        check(rules("<html>not found</html>"), "/x", true).await;
    }
}
