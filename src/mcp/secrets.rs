//! What a server was given, or says in the address of a resource, and must not be shown: it may repeat it in an answer
//! or an error.

use std::borrow::Cow;

use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{Error, Reply, Server, SignIn, Way, error::MAX_PROBLEM_CHARS};
use crate::net;

/// Addresses of resources that are known by others.
const MAX_ADDRESSES: usize = 1_000;
/// A shorter one would leave holes in every text.
const MIN_SECRET_BYTES: usize = 6;

/// The secrets of one server: those that its settings name, the tokens that were granted for it, and those in the
/// addresses of its resources.
#[derive(Default)]
pub(super) struct Secrets {
    named: Vec<SecretString>,
    /// A renewed token joins those before it, which may still be repeated.
    granted: Mutex<Vec<SecretString>>,
    /// Addresses that hold secrets, behind those that stand for them. Held for a look.
    addresses: Mutex<Vec<(String, SecretString)>>,
}

impl Secrets {
    pub fn of(server: &Server) -> Self {
        let named = named(server).into_iter().filter(|secret| secret.len() >= MIN_SECRET_BYTES);
        let named = named.map(SecretString::from).collect();
        Self { named, ..Self::default() }
    }

    pub fn add(&self, token: SecretString) {
        self.granted.lock().push(token);
    }

    /// Returns the text without them.
    pub fn hide(&self, text: String) -> String {
        self.with_all(|secrets| net::without(text, secrets))
    }

    /// Returns the address of a resource, or one that stands for it: with its secrets hidden, and with a number where
    /// that is another one's already. The secrets are hidden from then on wherever they stand.
    pub fn shown_address(&self, own: String) -> String {
        let mut known = self.addresses.lock();
        if let Some((shown, _)) = known.iter().find(|(_, known)| known.expose_secret() == own) {
            return shown.clone();
        }
        if known.len() < MAX_ADDRESSES {
            let secrets = net::secrets_of_address(&own).into_iter().filter(|secret| secret.len() >= MIN_SECRET_BYTES);
            self.granted.lock().extend(secrets.map(SecretString::from));
        }
        // With its own secrets hidden too, so that it stays the same wherever they are hidden again.
        let hidden = self.hide(net::hidden_address(&own).into_owned());
        if hidden == own {
            return own;
        }
        let mut numbered = (1..).map(|n| if n == 1 { hidden.clone() } else { format!("{hidden}#{n}") });
        let free = numbered.find(|name| known.iter().all(|(shown, _)| shown != name)).unwrap_or(hidden);
        if known.len() < MAX_ADDRESSES {
            known.push((free.clone(), own.into()));
        }
        free
    }

    /// Returns the address that one stands for; itself when nothing in it is hidden, `None` when it is not known.
    pub fn own_address(&self, shown: &str) -> Option<String> {
        if !shown.contains(net::HIDDEN) {
            return Some(shown.to_owned());
        }
        let known = self.addresses.lock();
        known.iter().find(|(known, _)| known == shown).map(|(_, own)| own.expose_secret().to_owned())
    }

    /// Returns the text without them, without what else looks like a secret, and no longer than that. In this order,
    /// since a cut through a secret would hide its end from the search.
    pub fn presentable(&self, text: &str, max_chars: usize) -> String {
        self.with_all(|secrets| net::redact(text, secrets)).chars().take(max_chars).collect()
    }

    /// Returns whether the text repeats one of them.
    pub fn are_in(&self, text: &str) -> bool {
        self.hide(text.to_owned()) != text
    }

    /// Returns the JSON without them, in its names too.
    pub fn hide_in_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hide(text)),
            Value::Array(values) => values.into_iter().map(|value| self.hide_in_json(value)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, value)| (self.hide(name), self.hide_in_json(value))).collect()
            }
            other => other,
        }
    }

    /// Returns the answer without them.
    pub fn hide_in(&self, mut reply: Reply) -> Reply {
        let hide = |text: String| self.hide(text);
        for piece in &mut reply.pieces {
            piece.text = hide(std::mem::take(&mut piece.text));
            piece.title = piece.title.take().map(hide);
            piece.address = piece.address.take().map(hide);
        }
        reply.left_out = reply.left_out.into_iter().map(hide).collect();
        reply
    }

    /// Returns the error without them, and without what else looks like a secret; of bounded length.
    pub fn scrub(&self, error: Error) -> Error {
        let clean = |text: String| self.presentable(&text, MAX_PROBLEM_CHARS);
        match error {
            Error::Unavailable(text) => Error::Unavailable(clean(text)),
            Error::Refused(text) => Error::Refused(clean(text)),
            Error::SignIn(sign_ins) => Error::SignIn(self.hide_in_sign_ins(sign_ins)),
            other => other,
        }
    }

    /// Returns the requests to sign in without them; of bounded length.
    pub fn hide_in_sign_ins(&self, sign_ins: Vec<SignIn>) -> Vec<SignIn> {
        let clean = |text: String| self.presentable(&text, MAX_PROBLEM_CHARS);
        let hidden = |sign_in: SignIn| SignIn { message: clean(sign_in.message), url: self.hide(sign_in.url) };
        sign_ins.into_iter().map(hidden).collect()
    }

    fn with_all<T>(&self, work: impl FnOnce(&mut dyn Iterator<Item = &str>) -> T) -> T {
        let granted = self.granted.lock();
        work(&mut self.named.iter().chain(granted.iter()).map(ExposeSecret::expose_secret))
    }
}

/// A name and a value.
type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// Returns the token, values whose names say that they are secret, and the secrets of all values that are addresses.
fn named(server: &Server) -> Vec<String> {
    let by_name = pairs(server).into_iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| value.into_owned());
    // Of `Bearer TOKEN` the token by itself, too.
    let tokens = |value: String| {
        let token = value.rsplit_once(' ').map(|(_, token)| token.to_owned());
        std::iter::once(value).chain(token)
    };
    by_name.flat_map(tokens).chain(values(server).into_iter().flat_map(net::secrets_of_address)).collect()
}

/// Lists headers, tokens, parameters of the address, variables and named arguments.
fn pairs(server: &Server) -> Vec<Pair<'_>> {
    match &server.way {
        Way::Http { url, headers, bearer, oauth, .. } => {
            let headers = headers.iter().map(|(name, value)| (name.as_str().into(), value.expose_secret().into()));
            let tokens = bearer.iter().chain(oauth.iter().map(|oauth| oauth.secret()));
            let tokens = tokens.map(|token| ("token".into(), token.expose_secret().into()));
            // As they stand in the address, and as they are meant.
            let written = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
            let written = written.map(|(name, value)| (name.into(), value.into()));
            headers.chain(tokens).chain(written).chain(url.query_pairs()).collect()
        }
        Way::Stdio { environment, arguments, .. } => {
            let environment = environment.iter().map(|(name, value)| (name.into(), value.expose_secret().into()));
            environment.chain(named_arguments(arguments)).collect()
        }
    }
}

/// Returns what may be an address with a password.
fn values(server: &Server) -> Vec<&str> {
    match &server.way {
        Way::Http { url, headers, .. } => {
            headers.iter().map(|(_, value)| value.expose_secret()).chain([url.as_str()]).collect()
        }
        Way::Stdio { environment, arguments, .. } => {
            let given = environment.iter().map(|(_, value)| value).chain(arguments);
            given.map(SecretString::expose_secret).collect()
        }
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "password", "auth", "cookie", "credential"].iter().any(|word| name.contains(word))
}

/// Lists the arguments of the form `--name=value` and `--name value`.
fn named_arguments(arguments: &[SecretString]) -> Vec<Pair<'_>> {
    let words: Vec<&str> = arguments.iter().map(SecretString::expose_secret).collect();
    let joined = words.iter().filter(|word| word.starts_with('-')).filter_map(|word| word.split_once('='));
    let apart = words.windows(2).filter(|two| two[0].starts_with('-') && !two[0].contains('='));
    joined.chain(apart.map(|two| (two[0], two[1]))).map(|(name, value)| (name.into(), value.into())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(server: Value) -> Secrets {
        Secrets::of(&super::super::read(&json!([server]), &|_| None).unwrap().remove(0))
    }

    #[test]
    fn what_the_settings_keep_secret_is_hidden_wherever_it_stands() {
        let web = of(json!({"name": "a", "url": "https://w.example/mcp?apiKey=pa55%2Dword&mode=simple",
            "bearer": "tok3n-1", "headers": {"X-Api-Key": "hea4er", "X-Team": "visible"}}));
        let said = "pa55%2Dword pa55-word tok3n-1 hea4er visible simple";
        assert_eq!(web.hide(said.to_owned()), "(hidden) (hidden) (hidden) (hidden) visible simple");
        let web =
            of(json!({"name": "a", "url": "https://w.example/mcp", "headers": {"Authorization": "Bearer tok3n-2"}}));
        assert_eq!(web.hide("Bearer tok3n-2, or tok3n-2".to_owned()), "(hidden), or (hidden)");
        let program = of(json!({"name": "a", "env": {"DB_PASSWORD": "s3cret-3"},
            "command": ["mcp", "--api-key=s3cret-1", "--token", "s3cret-2", "--root", "/srv/files"]}));
        let said = "s3cret-1 s3cret-2 s3cret-3 /srv/files";
        assert_eq!(program.hide(said.to_owned()), "(hidden) (hidden) (hidden) /srv/files");
        let database = of(json!({"name": "a", "env": {"DATABASE_URL": "mysql://app:s3cret%2D4@h/db"},
            "command": ["mcp-postgres", "postgres://app:s3cret-5@h/db"]}));
        let said = "app at h: s3cret%2D4 s3cret-4 s3cret-5";
        assert_eq!(database.hide(said.to_owned()), "app at h: (hidden) (hidden) (hidden)");
    }

    #[test]
    fn addresses_of_resources_keep_their_secrets_to_themselves() {
        let secrets = of(json!({"name": "a", "url": "https://w.example/mcp", "bearer": "tok3n-1"}));
        let check = |own: &str, expected: &str| {
            assert_eq!(secrets.shown_address(own.to_owned()), expected);
            assert_eq!(secrets.own_address(expected).as_deref(), Some(own), "{expected}");
            assert_eq!(
                secrets.hide(expected.to_owned()),
                expected,
                "it is shown in an answer, which is hidden in again"
            );
        };
        check("register://minutes/1931?page=2", "register://minutes/1931?page=2");
        check("postgres://app:s3cret-1@h/db", "postgres://(hidden)@h/db");
        check("postgres://app:s3cret-2@h/db", "postgres://(hidden)@h/db#2");
        check("postgres://app:s3cret-1@h/db", "postgres://(hidden)@h/db");
        check("blob://box/a.csv?v=1&sig=s3cret-3", "blob://box/a.csv?v=1&sig=(hidden)");
        check("box://tok3n-1/a", "box://(hidden)/a");
        check("mariadb://app:mariadb@h/db", "(hidden)://(hidden)@h/db");
        assert_eq!(secrets.own_address("postgres://(hidden)@other/db"), None);
        assert_eq!(secrets.hide("s3cret-1 s3cret-2 s3cret-3 app".to_owned()), "(hidden) (hidden) (hidden) app");
    }

    #[test]
    fn a_secret_at_the_place_of_a_cut_is_hidden_whole() {
        let secrets = of(json!({"name": "a", "url": "https://w.example/mcp", "bearer": "tok3n-1"}));
        let said = format!("{} tok3n-1 {} Bearer abcdef-123456", "x".repeat(MAX_PROBLEM_CHARS - 5), "x".repeat(90));
        let Error::Refused(shown) = secrets.scrub(Error::Refused(said.clone())) else { panic!("another error") };
        assert!(shown.ends_with(" (hid") && shown.len() == MAX_PROBLEM_CHARS, "{shown}");
        let sign_in = SignIn { message: said, url: "https://w.example/".to_owned() };
        let Error::SignIn(shown) = secrets.scrub(Error::SignIn(vec![sign_in])) else { panic!("another error") };
        assert!(shown[0].message.ends_with(" (hid"), "{shown:?}");
    }

    #[test]
    fn so_are_granted_tokens_those_before_a_renewal_too() {
        let secrets = of(json!({"name": "a", "url": "https://w.example/mcp", "bearer": "tok3n-1"}));
        secrets.add("granted-1".to_owned().into());
        secrets.add("granted-2".to_owned().into());
        assert_eq!(secrets.hide("granted-1, granted-2, tok3n-1".to_owned()), "(hidden), (hidden), (hidden)");
        let error = secrets.scrub(Error::Unavailable("granted-2 is unknown".to_owned()));
        assert!(!error.to_string().contains("granted-2"), "{error}");
    }
}
