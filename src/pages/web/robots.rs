//! What a site asks of programs (RFC 9309).

use std::time::Duration;

use reqwest::StatusCode;
use robotstxt::{
    RobotsParseHandler,
    matcher::{RobotsMatchStrategy, RobotsMatcher},
    parse_robotstxt,
};
use url::Url;

use super::{NotRead, reply};
use crate::net;

/// The name by which sites address us.
const AGENT: &str = "fathom";
/// No line that means something is longer; the parser drops the rest of those beyond 16,663 bytes.
const MAX_LINE_BYTES: usize = 16_000;
/// What is read of a robots.txt.
const MAX_BYTES: usize = 500 * 1024;
/// Redirects of a robots.txt, also to other hosts, whose rules then are this one's (RFC 9309, 2.3.1.2).
const MAX_REDIRECTS: usize = 5;

/// The rules of one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Robots {
    Free,
    Rules(String),
}

/// Why the rules cannot be had.
#[derive(Debug)]
pub(super) struct Unavailable {
    pub(super) why: NotRead,
    /// How long the site asks to be left alone; what another one asks is not this one's wish.
    pub(super) rest: Option<Duration>,
}

/// Fetches the rules of the origin of `url`. Where there are none, all pages are free.
///
/// # Errors
/// The site fails, so nothing of it may be read now.
pub(super) async fn fetch<'c>(
    url: &Url,
    client_for: impl Fn(&Url) -> Option<&'c reqwest::Client>,
) -> Result<Robots, Unavailable> {
    let refused = |why: String, rest| {
        let why = NotRead::new(format!("its site's robots.txt cannot be had: {why}"));
        Unavailable { why, rest }
    };
    let broken = |why: String| refused(why, None);
    let mut place = url.join("/robots.txt").map_err(|error| broken(error.to_string()))?;
    for _ in 0..=MAX_REDIRECTS {
        // What a page could not be read from is not called for rules.
        let Some(client) = client_for(&place) else { return Ok(Robots::Free) };
        let answer =
            client.get(place.clone()).send().await.map_err(|error| broken(net::Error::from(error).to_string()))?;
        let status = answer.status();
        if status.is_redirection() {
            match reply::location(&place, &answer) {
                Some(next) if next.scheme().starts_with("http") => place = next,
                _ => return Ok(Robots::Free),
            }
            continue;
        }
        let fails = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        return match status {
            _ if fails => {
                let rest = net::retry_after(answer.headers()).filter(|_| place.origin() == url.origin());
                Err(refused(status.to_string(), rest))
            }
            status if !status.is_success() => Ok(Robots::Free),
            _ => match beginning(answer).await {
                Ok(rules) => Ok(Robots::Rules(rules)),
                Err(error) => Err(broken(net::Error::from(error).to_string())),
            },
        };
    }
    Ok(Robots::Free)
}

/// Returns the rules as far as they are read. A line that is cut off there would be another rule.
async fn beginning(mut answer: reqwest::Response) -> reqwest::Result<String> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        body.extend_from_slice(&chunk[..chunk.len().min(MAX_BYTES - body.len())]);
        if body.len() == MAX_BYTES {
            body.truncate(body.iter().rposition(|byte| b"\r\n".contains(byte)).unwrap_or_default());
            break;
        }
    }
    // The parser takes a mark of the byte order for a part of the first rule.
    let text = String::from_utf8_lossy(&body);
    Ok(with_short_lines(text.strip_prefix('\u{feff}').unwrap_or(&text)))
}

/// Returns the text with each line as long as the parser takes it. Of a longer one it counts characters as bytes, and
/// then cuts the text within a character, which panics.
fn with_short_lines(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    for line in text.split_inclusive(['\n', '\r']) {
        let end = line.floor_char_boundary(MAX_LINE_BYTES);
        short.push_str(&line[..end]);
        if end < line.len() {
            short.push('\n');
        }
    }
    short
}

impl Robots {
    /// Returns whether this page may be read; there may be many rules, so they are matched beside the runtime's
    /// threads.
    pub(super) async fn allows(&self, url: &Url) -> bool {
        let Self::Rules(rules) = self else { return true };
        let (rules, url) = (rules.clone(), url.to_string());
        let matched = tokio::task::spawn_blocking(move || {
            RobotsMatcher::<LongestPattern>::default().one_agent_allowed_by_robots(&rules, AGENT, &url)
        });
        matched.await.unwrap_or(false)
    }

    /// Returns the pause between two calls that the site asks us for, or else all programs. Rules that the parser
    /// cannot take ask for none.
    pub(super) async fn crawl_delay(&self) -> Option<Duration> {
        let Self::Rules(rules) = self else { return None };
        let rules = rules.clone();
        let parsed = tokio::task::spawn_blocking(move || {
            let mut delays = Delays::default();
            parse_robotstxt(&rules, &mut delays);
            delays.ours.or(delays.of_all)
        });
        parsed.await.unwrap_or_default()
    }
}

/// The longest pattern that matches counts, as in the parser's own strategy, whose time grows with the third power of
/// the lengths, and which nothing can stop.
#[derive(Default)]
struct LongestPattern;

impl LongestPattern {
    #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a line has 16,000 bytes at most")]
    fn priority(path: &str, pattern: &str) -> i32 {
        if Self::matches(path, pattern) { pattern.len() as i32 } else { -1 }
    }
}

impl RobotsMatchStrategy for LongestPattern {
    fn match_allow(&self, path: &str, pattern: &str) -> i32 {
        Self::priority(path, pattern)
    }

    fn match_disallow(&self, path: &str, pattern: &str) -> i32 {
        Self::priority(path, pattern)
    }

    /// Returns whether a path begins with a pattern, in which `*` stands for any text and a last `$` for the end. Each
    /// part is looked for behind the one before, so the path is walked through once.
    fn matches(path: &str, pattern: &str) -> bool {
        let (pattern, is_whole) = pattern.strip_suffix('$').map_or((pattern, false), |pattern| (pattern, true));
        let Some((first, others)) = pattern.split_once('*') else {
            return if is_whole { path == pattern } else { path.starts_with(pattern) };
        };
        let Some(mut rest) = path.strip_prefix(first) else { return false };
        let mut parts = others.split('*').peekable();
        while let Some(part) = parts.next() {
            if is_whole && parts.peek().is_none() {
                return rest.ends_with(part);
            }
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        true
    }
}

/// Finds `Crawl-delay`, which the standard does not know.
#[derive(Default)]
struct Delays {
    ours: Option<Duration>,
    of_all: Option<Duration>,
    /// Whether the group that is read is for us, and for all.
    is_ours: bool,
    is_of_all: bool,
    /// Whether rules have come since the last name of a program: the next one begins another group.
    has_rules: bool,
}

impl RobotsParseHandler for Delays {
    fn handle_robots_start(&mut self) {}

    fn handle_robots_end(&mut self) {}

    fn handle_user_agent(&mut self, _: u32, name: &str) {
        if std::mem::take(&mut self.has_rules) {
            (self.is_ours, self.is_of_all) = (false, false);
        }
        let is_of_name = |letter: char| letter.is_ascii_alphabetic() || letter == '-' || letter == '_';
        let end = name.find(|letter| !is_of_name(letter)).unwrap_or(name.len());
        self.is_ours |= name[..end].eq_ignore_ascii_case(AGENT);
        self.is_of_all |= name.split_whitespace().next() == Some("*");
    }

    fn handle_allow(&mut self, _: u32, _: &str) {
        self.has_rules = true;
    }

    fn handle_disallow(&mut self, _: u32, _: &str) {
        self.has_rules = true;
    }

    fn handle_sitemap(&mut self, _: u32, _: &str) {}

    fn handle_unknown_action(&mut self, _: u32, action: &str, value: &str) {
        if !action.eq_ignore_ascii_case("crawl-delay") {
            return;
        }
        self.has_rules = true;
        let seconds = value.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        if self.is_ours {
            self.ours = self.ours.max(seconds);
        }
        if self.is_of_all {
            self.of_all = self.of_all.max(seconds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::growth;

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

    #[test]
    fn stars_stand_for_any_text_and_a_dollar_for_the_end() {
        let check = |path: &str, pattern: &str, expected: bool| {
            assert_eq!(LongestPattern::matches(path, pattern), expected, "{path} {pattern}");
        };
        for (pattern, expected) in [
            ("/", true),
            ("/a/b", true),
            ("/a/b/c$", true),
            ("/a/b$", false),
            ("/b", false),
            ("*", true),
            ("*$", true),
            ("/*/c", true),
            ("/*/c$", true),
            ("/*b*c", true),
            ("/*c*b", false),
            ("/a*$", true),
            ("/a/b/c*c$", false),
            ("/a$/b", false),
            ("", true),
            ("$", false),
        ] {
            check("/a/b/c", pattern, expected);
        }
        // Found again at the end, where the first place is not it.
        check("/x.pdf.pdf", "/*.pdf$", true);
        check("/aab", "/*ab$", true);
    }

    #[test]
    fn a_hostile_pattern_is_matched_at_once() {
        growth::check("*a", 64_000, |text| {
            let path = format!("/{}", "a".repeat(text.len()));
            assert!(!LongestPattern::matches(&path, &format!("/{text}z")));
        });
    }

    /// Without the cut the parser panics at both.
    #[tokio::test]
    async fn long_lines_are_no_danger() {
        let page = Url::parse("https://a.test/page").unwrap();
        let late = page.join("/late").unwrap();
        let rules = "User-agent: *\nCrawl-delay: 2\nDisallow: /late\n";
        let comment = format!("\u{feff}# {}\n{rules}", "ü".repeat(9_000));
        let html = format!("<html>{}éé\n</html>\n", "x".repeat(17_000));
        for (text, has_rules) in [(comment, true), (html, false), (format!("\u{feff}{rules}"), true)] {
            let is_long = text.lines().any(|line| line.len() > MAX_LINE_BYTES);
            let raw = Robots::Rules(text.clone()).crawl_delay().await;
            assert!(!is_long || raw.is_none(), "a panic of the parser stays there");
            let robots = Robots::Rules(beginning(http::Response::new(text).into()).await.unwrap());
            assert!(robots.allows(&page).await);
            assert_eq!((robots.crawl_delay().await.is_some(), robots.allows(&late).await), (has_rules, !has_rules));
        }
    }

    #[tokio::test]
    async fn the_pause_is_the_one_asked_of_us_or_of_all() {
        let check = async |text: &str, expected: Option<f64>| {
            let delay = Robots::Rules(text.to_owned()).crawl_delay().await;
            assert_eq!(delay.map(|delay| delay.as_secs_f64()), expected, "{text}");
        };
        check("User-agent: *\nCrawl-delay: 5\nDisallow: /x", Some(5.0)).await;
        check("User-agent: *\nCrawl-delay: 5\n\nUser-agent: Fathom\ncrawl-delay: 1.5", Some(1.5)).await;
        check("User-agent: other\nUser-agent: *\nDisallow:\nCrawl-delay: 2", Some(2.0)).await;
        check("User-agent: *\nDisallow: /x\nUser-agent: other\nCrawl-delay: 9", None).await;
        check("User-agent: *\nCrawl-delay: -1\nCrawl-delay: soon", None).await;
        check("User-agent: fathomless\nCrawl-delay: 3", None).await;
        assert_eq!(Robots::Free.crawl_delay().await, None);
    }

    /// Far more rules than anybody needs: those that are read count, and a line that is cut off is none.
    #[tokio::test]
    async fn of_a_long_robots_txt_the_first_half_megabyte_counts() {
        let begins = "User-agent: *\nDisallow: /private\n";
        let filler = "#\n".repeat((MAX_BYTES - begins.len()) / 2 - 6);
        let cut = format!("{begins}{filler}Disallow: /public-but-for-the-end\nDisallow: /late\n");
        let body = http::Response::new(cut + &filler);
        let Robots::Rules(rules) = Robots::Rules(beginning(body.into()).await.unwrap()) else { panic!("rules") };
        assert!((MAX_BYTES - 30..MAX_BYTES).contains(&rules.len()), "{} bytes", rules.len());
        let robots = Robots::Rules(rules);
        for (path, expected) in [("/private/x", false), ("/public", true), ("/late", true), ("/x", true)] {
            let url = Url::parse("https://a.test").unwrap().join(path).unwrap();
            assert_eq!(robots.allows(&url).await, expected, "{path}");
        }
    }
}
