//! The signature of Standard Webhooks, version 1: HMAC-SHA256 over id, time and body.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

const PREFIX: &str = "whsec_";
/// Bytes of a key (Standard Webhooks, "Signature scheme").
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Signs with the operator's key.
#[derive(Clone)]
pub struct Signer(Hmac<Sha256>);

impl fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Signer(…)")
    }
}

impl Signer {
    /// `None` when the secret is not `whsec_` and the base64 of 24 to 64 bytes.
    pub fn new(secret: &str) -> Option<Self> {
        let key = BASE64_STANDARD.decode(secret.trim().strip_prefix(PREFIX)?).ok()?;
        let hmac = Hmac::new_from_slice(&key).ok()?;
        KEY_BYTES.contains(&key.len()).then_some(Self(hmac))
    }

    /// The value of `webhook-signature`.
    pub fn sign(&self, id: &str, seconds: &str, body: &str) -> String {
        let mut hmac = self.0.clone();
        for part in [id, ".", seconds, ".", body] {
            hmac.update(part.as_bytes());
        }
        format!("v1,{}", BASE64_STANDARD.encode(hmac.finalize().into_bytes()))
    }
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
    fn secrets_have_their_form() {
        for wrong in ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_%%%"] {
            assert!(Signer::new(wrong).is_none(), "{wrong}");
        }
    }
}
