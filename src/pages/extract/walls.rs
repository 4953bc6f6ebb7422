//! Pages that stand before a page: checks for robots, requests to sign in, for consent or payment, errors sent as
//! pages. They say nothing about what was looked for, so they are no sources.
//!
//! To lose a page is worse than to keep a wall. So a page is one only if it is short, and if it speaks as walls do: a
//! title or the beginning of a sentence, not words somewhere in a sentence, which an article about such pages has too.

/// Characters of a page that is no more than a wall.
const MOST_CHARS: usize = 1_500;
/// The same of one that is known by its title, or by several phrases that pages have beside their text.
const FEW_CHARS: usize = 700;
/// Characters of a page on which one phrase is enough.
const ALONE_CHARS: usize = 400;
/// Characters of a page that says something beside its request for consent.
const OWN_CHARS: usize = 120;
/// Letters and digits of a number by which a wall is known to those who set it up, at least.
const ID_CHARS: usize = 6;

struct Wall {
    /// A sentence without its full stop, for people and models.
    what: &'static str,
    most_chars: usize,
    kind: Kind,
    /// In lower case; a title is one of them, or a sentence of the text begins with one.
    phrases: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Other,
    /// Stands at the end of what is shown for nothing.
    Paid,
    /// Stands on many pages beside their text.
    Consent,
}

const WALLS: [Wall; 5] = [
    Wall {
        what: "it shows a check for robots instead of its text",
        most_chars: MOST_CHARS,
        kind: Kind::Other,
        phrases: &[
            "verify you are human",
            "verifying you are human",
            "verify that you are not a robot",
            "confirm you are human",
            "are you a robot",
            "robot or human",
            "making sure you're not a bot",
            "making sure you’re not a bot",
            "complete the captcha",
            "complete the security check to access",
            "checking your browser before",
            "checking if the site connection is secure",
            "enable javascript and cookies to continue",
            "enable cookies and reload",
            "enable js and disable any ad blocker",
            "unusual traffic from your computer",
            "our systems have detected unusual traffic",
            "press & hold to confirm",
            "pardon our interruption",
            "access to this page has been denied",
            "you don't have permission to access",
            "you don’t have permission to access",
            "you do not have permission to access this",
            "sorry, you have been blocked",
            "you have been blocked",
            "you've been blocked by network security",
            "incapsula incident id",
            "the request could not be satisfied",
            "attention required!",
            "ddos protection by cloudflare",
            "performance & security by cloudflare",
            "needs to review the security of your connection",
            "just a moment...",
            "just a moment…",
            "einen moment...",
            "sind sie ein roboter",
            "sind sie ein mensch",
            "bestätigen sie, dass sie ein mensch",
            "bestätigen sie, dass sie kein roboter",
            "überprüfung, ob sie ein mensch sind",
            "ihr browser wird überprüft",
            "êtes-vous un robot",
            "êtes-vous humain",
            "vérifiez que vous êtes humain",
            "vérifier que vous êtes humain",
            "vérification que vous êtes humain",
            "confirmez que vous n'êtes pas un robot",
            "un instant...",
            "eres un robot",
            "eres humano",
            "verifica que eres humano",
            "verifique que es humano",
            "verificando que eres humano",
            "confirma que no eres un robot",
            "un momento...",
            "请完成安全验证",
            "请完成验证",
            "请输入验证码",
            "请进行安全验证",
            "验证您是真人",
            "确认您是真人",
            "正在验证您是否是真人",
            "当前环境异常",
            "检测到您的网络环境存在异常",
            "访问过于频繁",
            "您的访问过于频繁",
            "请稍候…",
        ],
    },
    Wall {
        what: "it shows its text only to those who pay or sign in",
        most_chars: MOST_CHARS,
        kind: Kind::Paid,
        phrases: &[
            "subscribe to continue reading",
            "subscribe to read the full",
            "to continue reading, subscribe",
            "to read the full story, subscribe",
            "this content is for subscribers",
            "this article is for subscribers",
            "this article is reserved for subscribers",
            "already a subscriber? log in",
            "already a subscriber? sign in",
            "create a free account to continue",
            "sign in to continue",
            "log in to continue",
            "log in to read",
            "log in to view this",
            "sign in to read",
            "sign in to view this",
            "you must be logged in to view",
            "you must be logged in to read",
            "you must be logged in to see",
            "you need to be logged in to view",
            "you must log in to continue",
            "jetzt weiterlesen mit",
            "weiterlesen mit ",
            "jetzt abonnieren und weiterlesen",
            "dieser artikel ist nur für abonnenten",
            "dieser inhalt ist nur für abonnenten",
            "melden sie sich an, um weiterzulesen",
            "melden sie sich an, um den artikel",
            "melden sie sich an, um diesen",
            "melden sie sich an, um fortzufahren",
            "sie müssen sich anmelden, um diesen",
            "sie müssen sich anmelden, um fortzufahren",
            "sie müssen angemeldet sein, um diesen",
            "cet article est réservé aux abonnés",
            "cet article est réservé à nos abonnés",
            "article réservé aux abonnés",
            "article réservé à nos abonnés",
            "contenu réservé aux abonnés",
            "la suite est réservée aux abonnés",
            "la suite est réservée à nos abonnés",
            "abonnez-vous pour lire",
            "connectez-vous pour lire",
            "connectez-vous pour continuer",
            "connectez-vous pour accéder",
            "vous devez être connecté pour lire",
            "vous devez être connecté pour voir",
            "vous devez être connecté pour accéder",
            "contenido exclusivo para suscriptores",
            "artículo exclusivo para suscriptores",
            "este contenido es exclusivo para suscriptores",
            "este artículo es exclusivo para suscriptores",
            "suscríbete para seguir leyendo",
            "suscríbase para seguir leyendo",
            "inicia sesión para continuar",
            "inicia sesión para leer",
            "inicie sesión para continuar",
            "inicie sesión para leer",
            "debes iniciar sesión para leer",
            "debes iniciar sesión para ver",
            "登录后查看",
            "登录后可查看",
            "登录后阅读",
            "本文为付费内容",
            "本文为会员专享",
            "开通会员阅读",
            "开通会员查看",
            "订阅后阅读",
        ],
    },
    Wall {
        what: "it asks for consent instead of showing its text",
        most_chars: FEW_CHARS,
        kind: Kind::Consent,
        phrases: &[
            "before you continue to",
            "we value your privacy",
            "we care about your privacy",
            "we use cookies",
            "this site uses cookies",
            "this website uses cookies",
            "accept all",
            "reject all",
            "manage your consent",
            "manage cookies",
            "bevor sie fortfahren",
            "bevor sie zu",
            "wir verwenden cookies",
            "wir nutzen cookies",
            "diese website verwendet cookies",
            "wir schätzen ihre privatsphäre",
            "ihre privatsphäre ist uns wichtig",
            "alle cookies akzeptieren",
            "alle akzeptieren",
            "alles akzeptieren",
            "alle ablehnen",
            "avant de continuer",
            "avant d'accéder",
            "nous utilisons des cookies",
            "nous respectons votre vie privée",
            "votre vie privée est importante",
            "accepter tous les cookies",
            "accepter tout",
            "tout accepter",
            "tout refuser",
            "antes de continuar",
            "utilizamos cookies",
            "usamos cookies",
            "valoramos su privacidad",
            "valoramos tu privacidad",
            "aceptar todo",
            "aceptar todas las cookies",
            "rechazar todo",
            "我们重视您的隐私",
            "我们使用 cookie",
            "我们使用cookie",
            "接受所有 cookie",
            "接受所有cookie",
            "全部接受",
            "全部拒绝",
        ],
    },
    Wall {
        what: "it is an error that was sent as a page",
        most_chars: FEW_CHARS,
        kind: Kind::Other,
        phrases: &[
            "404 not found",
            "error 404",
            "404 error",
            "page not found",
            "403 forbidden",
            "500 internal server error",
            "502 bad gateway",
            "503 service unavailable",
            "503 service temporarily unavailable",
            "504 gateway time-out",
            "504 gateway timeout",
            "fehler 404",
            "seite nicht gefunden",
            "die seite wurde nicht gefunden",
            "die angeforderte seite",
            "erreur 404",
            "page introuvable",
            "page non trouvée",
            "la page demandée",
            "página no encontrada",
            "la página solicitada",
            "页面不存在",
            "您访问的页面不存在",
            "抱歉，您访问的页面不存在",
            "404 页面未找到",
            "页面未找到",
            "找不到页面",
            "服务器错误",
        ],
    },
    Wall {
        what: "its site refuses to show it",
        most_chars: ALONE_CHARS,
        kind: Kind::Other,
        phrases: &["zugriff verweigert", "accès refusé", "acceso denegado", "访问被拒绝", "禁止访问"],
    },
];

/// Words of sentences that ask for consent, in lower case.
const OF_CONSENT: [&str; 31] = [
    "cookie",
    "privacy",
    "consent",
    "accept",
    "reject",
    "partner",
    "vendor",
    "personal data",
    "settings",
    "before you continue",
    "akzept",
    "ablehn",
    "einwillig",
    "zustimm",
    "datenschutz",
    "privatsphäre",
    "personenbezogen",
    "einstellungen",
    "refuser",
    "confidentialité",
    "vie privée",
    "consentement",
    "paramètres",
    "aceptar",
    "rechazar",
    "privacidad",
    "consentimiento",
    "configura",
    "隐私",
    "接受",
    "拒绝",
];
/// What may stand before a phrase in its sentence.
const POLITE: [&str; 13] = [
    "please ",
    "to continue, ",
    "bitte ",
    "veuillez ",
    "merci de ",
    "s'il vous plaît, ",
    "por favor, ",
    "por favor ",
    "请",
    "¿",
    "¡",
    "- ",
    "* ",
];
/// Before a number by which a wall is known, in lower case.
const IDS: [&str; 6] = ["ray id", "reference #", "reference id", "incident id", "support id", "request id"];

/// Returns what a page is instead of one with a text; `None` for what may be a text.
pub fn of(title: &str, text: &str) -> Option<&'static str> {
    let chars = text.chars().take(MOST_CHARS + 1).count();
    if chars > MOST_CHARS {
        return None;
    }
    let (title, text) = (title.to_lowercase(), text.to_lowercase());
    let sentences = sentences(&text);
    let stands = |wall: &&Wall| {
        let is_short = chars <= wall.most_chars;
        is_short && wall.is_said(&title, &sentences, chars) && (wall.kind != Kind::Consent || is_consent(&sentences))
    };
    WALLS.iter().find(stands).map(|wall| wall.what)
}

impl Wall {
    /// Returns whether the page is one of these, as far as its words tell.
    fn is_said(&self, title: &str, sentences: &[&str], chars: usize) -> bool {
        if chars <= FEW_CHARS && self.is_titled(title) {
            return true;
        }
        let said: Vec<usize> = self.phrases.iter().filter_map(|phrase| first(phrase, sentences)).collect();
        match said[..] {
            [] => false,
            [_] if chars <= ALONE_CHARS || sentences.iter().any(|sentence| has_id(sentence)) => true,
            [place] => self.kind == Kind::Paid && place + 4 >= sentences.len(),
            _ => true,
        }
    }

    fn is_titled(&self, title: &str) -> bool {
        let is_phrase = |text: &str| self.phrases.iter().any(|phrase| ends_with_marks(text, phrase));
        let parts = title.split(['|', '–', '—', '·']).flat_map(|part| part.split(" - "));
        parts.map(str::trim).any(is_phrase)
    }
}

/// Returns the first sentence that begins with that phrase.
fn first(phrase: &str, sentences: &[&str]) -> Option<usize> {
    sentences.iter().position(|sentence| {
        let polite = POLITE.iter().find_map(|polite| sentence.strip_prefix(polite));
        sentence.starts_with(phrase) || polite.is_some_and(|rest| rest.starts_with(phrase))
    })
}

/// Returns whether the text is that phrase, and marks at most.
fn ends_with_marks(text: &str, phrase: &str) -> bool {
    let text = POLITE.iter().find_map(|polite| text.strip_prefix(polite)).unwrap_or(text);
    text.strip_prefix(phrase).is_some_and(|rest| !rest.contains(char::is_alphanumeric))
}

/// Returns the sentences and lines of a text, without the space around them.
fn sentences(text: &str) -> Vec<&str> {
    let lines = text.split(['\n', '|', '。', '！', '？']);
    let of_line = |line| {
        let mut rest: &str = line;
        let mut sentences = Vec::new();
        while let Some(end) = [". ", "! ", "? ", "… "].iter().filter_map(|end| Some(rest.find(end)? + end.len())).min()
        {
            sentences.push(rest[..end].trim());
            rest = &rest[end..];
        }
        sentences.push(rest.trim());
        sentences
    };
    lines.flat_map(of_line).filter(|sentence| !sentence.is_empty()).collect()
}

/// Does the page say next to nothing beside its request for consent?
fn is_consent(sentences: &[&str]) -> bool {
    let is_own = |sentence: &&&str| !OF_CONSENT.iter().any(|word| sentence.contains(word));
    let own: usize = sentences.iter().filter(is_own).map(|sentence| sentence.chars().count()).sum();
    own < OWN_CHARS
}

/// Does the sentence name a number of the refusal?
fn has_id(sentence: &str) -> bool {
    IDS.iter().any(|name| {
        let Some((_, rest)) = sentence.split_once(name) else { return false };
        let rest = rest.trim_start_matches([':', '#', ' ']);
        let end =
            rest.find(|char: char| !char.is_ascii_alphanumeric() && !matches!(char, '.' | '-')).unwrap_or(rest.len());
        end >= ID_CHARS && rest[..end].contains(|char: char| char.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(title: &str, text: &str, part: Option<&str>) {
        let found = of(title, text);
        assert_eq!(found.is_some(), part.is_some(), "{title}: {text}: {found:?}");
        assert!(part.is_none_or(|part| found.unwrap_or_default().contains(part)), "{title}: {found:?}");
    }

    #[test]
    fn walls_are_no_pages() {
        let robots = Some("robots");
        check("Just a moment...", "Verifying you are human. This may take a few seconds.", robots);
        check("harbour.test", "Bitte bestätigen Sie, dass Sie ein Mensch sind.", robots);
        check("harbour.test", "Veuillez vérifier que vous êtes humain", robots);
        check("harbour.test", "¿Eres humano? Marca la casilla.", robots);
        check("百度安全验证", "请完成安全验证\n\n向右滑动滑块填充拼图", robots);
        check("微信公众平台", "当前环境异常，完成验证后即可继续访问。去验证", robots);
        let (pay, consent, error) = (Some("pay"), Some("consent"), Some("error"));
        check("The Ledger", "Subscribe to continue reading. Only 4 crowns a month.", pay);
        check("Der Bote", "Bitte melden Sie sich an, um den Artikel zu lesen.", pay);
        check("Le Phare", "Cet article est réservé aux abonnés. Il vous reste 80 % à lire.", pay);
        check("El Faro", "Suscríbete para seguir leyendo", pay);
        check("知网", "登录后查看全文", pay);
        let teaser = "The harbour office has counted its dues, and they are higher than ever before. ".repeat(9);
        check("The Ledger", &format!("{teaser}\n\nTo continue reading, subscribe for 4 crowns a month."), pay);
        check("Before you continue to Search", "We use cookies. Accept all. Reject all.", consent);
        let text =
            "Wir verwenden Cookies und geben Daten an unsere 214 Partner weiter.\nAlle akzeptieren\nEinstellungen";
        check("Der Bote", text, consent);
        check("Le Phare", "Nous respectons votre vie privée.\n\nTout accepter | Tout refuser", consent);
        check("El Faro", "Valoramos tu privacidad. Utilizamos cookies. Aceptar todo", consent);
        check("门户", "我们重视您的隐私。我们使用 Cookie 和类似技术。全部接受", consent);
        check("404 Not Found", "nginx", error);
        check("Seite nicht gefunden | Hafenamt", "Zur Startseite", error);
        check("Hafen", "La página solicitada no existe. Volver al inicio", error);
        check("港口", "抱歉，您访问的页面不存在", error);
    }

    /// As the services show them that keep robots out.
    #[test]
    fn refusals_of_those_who_keep_robots_out_are_no_pages() {
        let akamai = "Access Denied\n\nYou don't have permission to access \"http://harbour.test/dues\" on this server.\n\n\
            Reference #18.5d3d1002.1731000000.1a2b3c4d\n\nhttps://errors.edgesuite.net/18.5d3d1002";
        check("Access Denied", akamai, Some("robots"));
        let cloudflare = "Sorry, you have been blocked\n\nYou are unable to access harbour.test\n\nWhy have I been blocked? \
            This website is using a security service to protect itself from online attacks. The action you just performed \
            triggered the security solution. There are several actions that could trigger this block including submitting \
            a certain word or phrase, a SQL command or malformed data.\n\nWhat can I do to resolve this? You can email the \
            site owner to let them know you were blocked.\n\nCloudflare Ray ID: 8a1b2c3d4e5f6789";
        check("Attention Required! | Cloudflare", cloudflare, Some("robots"));
        check("harbour.test", cloudflare, Some("robots"));
        let perimeterx = "Access to this page has been denied because we believe you are using automation tools to browse the \
            website.\n\nThis may happen as a result of the following: Javascript is disabled or blocked by an extension (ad \
            blockers for example). Your browser does not support cookies. Please make sure that Javascript and cookies are \
            enabled on your browser and that you are not blocking them from loading.\n\nReference ID: #0b1c2d3e-4f50-11ef";
        check("Access to this page has been denied", perimeterx, Some("robots"));
        check("harbour.test", perimeterx, Some("robots"));
        check("harbour.test", "Please enable JS and disable any ad blocker", Some("robots"));
        check("harbour.test", "Request unsuccessful. Incapsula incident ID: 778000130012345678-1234", Some("robots"));
    }

    #[test]
    fn what_speaks_of_walls_is_a_page() {
        check("The tide gate", "Harbour dues of four crowns pay the tide gate.", None);
        let article = "Sites ask their readers to verify you are human, and it costs them. A reader has to \
            complete the captcha first. Most pages say “Verify you are human”, others “Please enable cookies and reload”.";
        check("How captchas work", article, None);
        check("Are you a robot? What captchas cost", article, None);
        check("Access Denied", "Access Denied is a novel of 2012 by M. Tey, who lived in Skelderwick.", None);
        check("Error pages", "The words 404 Not Found are sent when a page is gone. So is 403 Forbidden.", None);
        let note = "The gate cost 412,000 crowns, says the harbour office. It was opened in May 2031 and takes 40 boats an hour \
            through, which pay four crowns each.";
        check("Dues", &format!("We use cookies. Accept all. Reject all.\n\n{note}"), None);
        check("Dues", &format!("{note}\n\nWir verwenden Cookies. Alle akzeptieren"), None);
        let many = note.repeat(4);
        check("Just a moment… | Le Phare", &note.repeat(6), None);
        check("Just a moment… | Le Phare", note, Some("robots"));
        check("Dues", &format!("Sign in to continue\n\n{many}\n\n{}", "A line of the page.\n\n".repeat(5)), None);
        check(
            "Reference",
            "A support call has a reference # that you may name. Reference #18.5d3d1002 was closed.",
            None,
        );
        check("Gulls", &format!("{note}\n\nYou must be logged in to post a comment."), None);
        check("Mouettes", &format!("{note}\n\nConnectez-vous pour commenter"), None);
        check("海鸥", &format!("{note}\n\n请先登录后再评论"), None);
        check("网站验证", "网站要求用户请输入验证码，以区分人和机器。这篇文章介绍验证码的历史。", None);
        check(
            "Hafen",
            "Auf vielen Seiten heißt es, bitte melden Sie sich an. Das Hafenamt verlangt das nicht mehr.",
            None,
        );
    }
}
