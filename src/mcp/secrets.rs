//! What a server was given and must not be shown again: it may repeat it in an answer or an error.

use std::borrow::Cow;

use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{Error, Reply, Server, SignIn, Way};
use crate::net;

/// The secrets of one server: those that its settings name and the tokens that were granted for it.
#[derive(Default)]
pub(super) struct Secrets {
    named: Vec<SecretString>,
    /// A renewed token joins those before it, which may still be repeated.
    granted: Mutex<Vec<SecretString>>,
}

impl Secrets {
    pub fn of(server: &Server) -> Self {
        let named = named(server).into_iter().map(|secret| SecretString::from(secret.into_owned())).collect();
        Self { named, granted: Mutex::default() }
    }

    pub fn add(&self, token: SecretString) {
        self.granted.lock().push(token);
    }

    /// The text without them.
    pub fn hide(&self, text: String) -> String {
        self.with_all(|secrets| net::without(text, secrets))
    }

    /// Does the text repeat one of them?
    pub fn are_in(&self, text: &str) -> bool {
        self.hide(text.to_owned()) != text
    }

    /// The JSON without them, in its names too.
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

    /// The answer without them.
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

    /// The error without them, and without what else looks like a secret.
    pub fn scrub(&self, error: Error) -> Error {
        let clean = |text: String| self.with_all(|secrets| net::redact(&text, secrets));
        match error {
            Error::Unavailable(text) => Error::Unavailable(clean(text)),
            Error::Refused(text) => Error::Refused(clean(text)),
            Error::SignIn(sign_ins) => {
                let hidden = |sign_in: SignIn| SignIn { message: clean(sign_in.message), url: self.hide(sign_in.url) };
                Error::SignIn(sign_ins.into_iter().map(hidden).collect())
            }
            other => other,
        }
    }

    fn with_all<T>(&self, work: impl FnOnce(&mut dyn Iterator<Item = &str>) -> T) -> T {
        let granted = self.granted.lock();
        work(&mut self.named.iter().chain(granted.iter()).map(ExposeSecret::expose_secret))
    }
}

/// The token, and values whose names say that they are secret: of headers, parameters of the address, variables and
/// arguments. Short ones would leave holes in every text.
fn named(server: &Server) -> Vec<Cow<'_, str>> {
    let named: Vec<(Cow<'_, str>, Cow<'_, str>)> = match &server.way {
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
    };
    let secret = |(name, value): &(Cow<'_, str>, Cow<'_, str>)| is_secret(name) && value.len() >= 6;
    named.into_iter().filter(secret).map(|(_, value)| value).collect()
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "password", "auth", "cookie", "credential"].iter().any(|word| name.contains(word))
}

/// `--name=value` and `--name value`.
fn named_arguments(arguments: &[SecretString]) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
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
        let program = of(json!({"name": "a", "env": {"DB_PASSWORD": "s3cret-3"},
            "command": ["mcp", "--api-key=s3cret-1", "--token", "s3cret-2", "--root", "/srv/files"]}));
        let said = "s3cret-1 s3cret-2 s3cret-3 /srv/files";
        assert_eq!(program.hide(said.to_owned()), "(hidden) (hidden) (hidden) /srv/files");
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
