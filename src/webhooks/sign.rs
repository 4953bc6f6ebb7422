//! The signature of Standard Webhooks, version 1: HMAC-SHA256 over id, time and body.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

const PREFIX: &str = "whsec_";
/// Bytes of a key (Standard Webhooks, "Signature scheme").
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// More than a change of secrets needs, and little enough for a header.
const MAX_SECRETS: usize = 4;

/// Signs with each of the operator's keys: while receivers change from one to the next, each accepts one of them.
#[derive(Clone)]
pub struct Signer(Vec<Hmac<Sha256>>);

impl fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Signer(…)")
    }
}

impl Signer {
    /// Makes a signer of one to four secrets with spaces between them; `None` when one is not `whsec_` and the base64
    /// of 24 to 64 bytes.
    pub fn new(secrets: &str) -> Option<Self> {
        let keys: Vec<_> = secrets.split_whitespace().map(key).collect::<Option<_>>()?;
        (1..=MAX_SECRETS).contains(&keys.len()).then_some(Self(keys))
    }

    /// Returns the value of `webhook-signature`: a signature by each key, with spaces between them.
    pub fn sign(&self, id: &str, seconds: &str, body: &str) -> String {
        let signature = |key: &Hmac<Sha256>| {
            let mut hmac = key.clone();
            for part in [id, ".", seconds, ".", body] {
                hmac.update(part.as_bytes());
            }
            format!("v1,{}", BASE64_STANDARD.encode(hmac.finalize().into_bytes()))
        };
        self.0.iter().map(signature).collect::<Vec<_>>().join(" ")
    }
}

fn key(secret: &str) -> Option<Hmac<Sha256>> {
    let bytes = BASE64_STANDARD.decode(secret.strip_prefix(PREFIX)?).ok()?;
    KEY_BYTES.contains(&bytes.len()).then(|| Hmac::new_from_slice(&bytes).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks libraries.
    #[test]
    fn the_known_example() {
        let signer = Signer::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(format!("{signer:?}"), "Signer(…)");
    }

    #[test]
    fn each_secret_signs() {
        let [old, new] = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"];
        let signed = |secrets: &str| Signer::new(secrets).unwrap().sign("msg", "1", "{}");
        assert_eq!(signed(&format!(" {new}  {old}\n")), format!("{} {}", signed(new), signed(old)));
        assert_ne!(signed(new), signed(old));
    }

    #[test]
    fn secrets_have_their_form() {
        let right = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let (one_wrong, many) = (format!("{right} whsec_"), [right; 5].join(" "));
        let alone = ["", " ", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_%%%"];
        for wrong in alone.into_iter().chain([one_wrong.as_str(), &many]) {
            assert!(Signer::new(wrong).is_none(), "{wrong}");
        }
    }
}
