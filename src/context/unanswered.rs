//! Model calls that bring nothing.

use serde::{Deserialize, Serialize};

use crate::{
    domain::{Failure, FailureCode},
    llm::{self, Completion},
};

/// A model call's end as the journal keeps it.
pub(super) type Outcome = Result<Completion, Unanswered>;

/// A model call that brought nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unanswered {
    #[serde(flatten)]
    pub failure: Failure,
    /// All was tried that there was time for, or trying again would fail the same way; otherwise it broke off after its
    /// first text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_final: bool,
    /// What the provider asked for then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Unanswered {
    /// Fails a call with which nothing was wrong, but whose answer cannot be used.
    pub fn useless(failure: Failure) -> Self {
        Self { failure, is_final: false, retry_after_ms: None }
    }

    pub(super) fn lasting(failure: Failure) -> Self {
        Self { failure, is_final: true, retry_after_ms: None }
    }

    /// Fails a call whose first text has been passed on: it is not made again inside [`llm`].
    pub(super) fn broken_off(error: llm::Error) -> Self {
        let retry_after_ms = match &error {
            llm::Error::RateLimited { retry_after, .. } => retry_after.map(|wait| wait.as_millis() as u64),
            _ => None,
        };
        let is_final = matches!(error, llm::Error::Quota { .. });
        Self { failure: failure(error), is_final, retry_after_ms }
    }
}

impl From<llm::Failed> for Unanswered {
    fn from(failed: llm::Failed) -> Self {
        let mut failure = failure(failed.error);
        if let Some(wait) = failed.too_long {
            let wait = wait.as_secs_f64();
            failure
                .message
                .push_str(&format!("; the next attempt would be in {wait:.0} s, and there is no time for it"));
        }
        Self::lasting(failure)
    }
}

/// Returns what a failed call means for the run.
fn failure(error: llm::Error) -> Failure {
    use llm::Error as E;
    let code = match &error {
        E::ContextWindow { .. } => FailureCode::ContextWindow,
        E::Auth { .. } => FailureCode::ModelAuth,
        E::BadRequest { .. } => FailureCode::ModelRequest,
        E::RateLimited { .. } | E::Quota { .. } | E::Overloaded { .. } | E::Transport { .. } | E::Malformed { .. } => {
            FailureCode::ModelUnavailable
        }
        E::Timeout { .. } => FailureCode::Timeout,
        E::Refused { .. } => FailureCode::ModelRefused,
        E::TooLong { .. } => FailureCode::ModelOutput,
    };
    Failure::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ModelName;

    /// A report whose stream breaks off is written again, but for what no other attempt heals.
    #[test]
    fn what_broke_off_may_pass_unless_a_quota_is_used_up() {
        let (model, detail): (ModelName, String) = ("openai:m".parse().unwrap(), "429".to_owned());
        let quota = Unanswered::broken_off(llm::Error::Quota { model: model.clone(), detail });
        assert!(quota.is_final && quota.retry_after_ms.is_none());
        let retry_after = Some(std::time::Duration::from_secs(2));
        let limited = Unanswered::broken_off(llm::Error::RateLimited { model, retry_after });
        assert_eq!((limited.is_final, limited.retry_after_ms), (false, Some(2_000)));
    }
}
