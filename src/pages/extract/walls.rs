//! Pages that stand before a page: checks for robots, requests for consent or payment, errors sent as pages. They say
//! nothing about what was looked for, so they are no sources.

/// Characters of a page that is no more than a wall.
const MOST_CHARS: usize = 1_500;
/// The same, where the words stand on many pages beside their text.
const FEW_CHARS: usize = 700;

struct Wall {
    /// A sentence without its full stop, for people and models.
    what: &'static str,
    most_chars: usize,
    /// In lower case, in the title or the text.
    words: &'static [&'static str],
}

const WALLS: [Wall; 4] = [
    Wall {
        what: "it shows a check for robots instead of its text",
        most_chars: MOST_CHARS,
        words: &[
            "verify you are human",
            "verifying you are human",
            "verify that you are not a robot",
            "complete the captcha",
            "checking your browser before",
            "checking if the site connection is secure",
            "enable javascript and cookies to continue",
            "please enable cookies and reload",
            "unusual traffic from your computer",
            "press & hold to confirm",
            "access to this page has been denied",
            "attention required! | cloudflare",
            "sind sie ein roboter",
            "êtes-vous un robot",
        ],
    },
    Wall {
        what: "it shows its text only to those who pay or sign in",
        most_chars: MOST_CHARS,
        words: &[
            "subscribe to continue reading",
            "subscribe to read the full",
            "to continue reading, subscribe",
            "this content is for subscribers",
            "this article is for subscribers",
            "already a subscriber? log in",
            "already a subscriber? sign in",
            "create a free account to continue",
            "sign in to continue reading",
            "jetzt weiterlesen mit",
            "réservé aux abonnés",
        ],
    },
    Wall {
        what: "it asks for consent instead of showing its text",
        most_chars: FEW_CHARS,
        words: &[
            "before you continue to",
            "we value your privacy",
            "accept all cookies",
            "manage your consent",
            "bevor sie fortfahren",
            "alle cookies akzeptieren",
            "accepter tous les cookies",
        ],
    },
    Wall {
        what: "it is an error that was sent as a page",
        most_chars: FEW_CHARS,
        words: &[
            "404 not found",
            "error 404",
            "page not found",
            "403 forbidden",
            "500 internal server error",
            "502 bad gateway",
            "503 service unavailable",
            "seite nicht gefunden",
            "page introuvable",
            "just a moment...",
        ],
    },
];

/// What a page is instead of one with a text; `None` for what may be a text.
pub fn of(title: &str, text: &str) -> Option<&'static str> {
    let chars = text.chars().take(MOST_CHARS + 1).count();
    if chars > MOST_CHARS {
        return None;
    }
    let page = format!("{title}\n{text}").to_lowercase();
    let stands = |wall: &&Wall| chars <= wall.most_chars && wall.words.iter().any(|words| page.contains(words));
    WALLS.iter().find(stands).map(|wall| wall.what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_are_told_from_pages() {
        let check = |title: &str, text: &str, part: Option<&str>| {
            let found = of(title, text);
            assert_eq!(found.is_some(), part.is_some(), "{title} {text}: {found:?}");
            assert!(part.is_none_or(|part| found.unwrap_or_default().contains(part)), "{title}: {found:?}");
        };
        check("Just a moment...", "Verifying you are human. This may take a few seconds.", Some("robots"));
        check("The Ledger", "Subscribe to continue reading. Only 4 crowns a month.", Some("pay"));
        check("Before you continue to Search", "We use cookies. Accept all. Reject all.", Some("consent"));
        check("404 Not Found", "nginx", Some("error"));
        check("The tide gate", "Harbour dues of four crowns pay the tide gate.", None);
        let article = "How sites verify you are human, and what it costs their readers. ".repeat(40);
        check("Captchas", &article, None);
        let page = format!("We value your privacy. {}", "Dues of four crowns pay the gate. ".repeat(30));
        check("Dues", &page, None);
    }
}
