//! Where credentials are looked for, in order, and how long those that were found are used.

use aws_credential_types::Credentials;
use futures::FutureExt as _;

use super::profile::{By, Profile, Profiles, Role};
use super::remote::{Container, Machine};
use super::roles::Sts;
use super::sign_in::Portal;
use super::timed::TimedCredentials;
use crate::llm::access::Refused;
use crate::llm::access::credential_cache::CredentialCache;
use crate::llm::endpoint::Endpoint;
use crate::net::ApiClients;

/// All places of one account.
#[derive(Debug)]
pub struct Sources {
    /// The access key of the settings.
    given: Option<Credentials>,
    role: Option<Role>,
    /// The profile that the operator names, and no other place.
    named: Option<String>,
    profiles: Profiles,
    container: Option<Container>,
    machine: Option<Machine>,
    sts: Sts,
    portal: Portal,
    kept: CredentialCache<Credentials>,
}

impl Sources {
    pub fn new(endpoint: &Endpoint, region: &str, clients: &ApiClients) -> Self {
        let text = |name: &str| endpoint.other(name).map(str::to_owned);
        let given = text("access_key_id").zip(text("secret_access_key"));
        Self {
            given: given.map(|(id, key)| Credentials::new(id, key, text("session_token"), None, "settings")),
            role: Role::of_settings(endpoint),
            named: text("profile"),
            profiles: Profiles::new(endpoint),
            container: Container::of_settings(endpoint, clients),
            machine: Machine::of_settings(endpoint, clients),
            sts: Sts::new(endpoint, region, clients),
            portal: Portal::new(endpoint, clients),
            kept: CredentialCache::default(),
        }
    }

    /// Returns the credentials that count.
    pub async fn credentials(&self) -> Result<Credentials, Refused> {
        match &self.given {
            Some(given) => Ok(given.clone()),
            // Boxed, since a role may lead to the next one.
            None => self.kept.current(async { Ok(self.find().await?.fresh()) }.boxed()).await,
        }
    }

    /// Ends the use of what was found, and returns whether something was.
    pub fn forget(&self) -> bool {
        self.kept.forget()
    }

    pub fn secrets(&self) -> Vec<String> {
        let last = self.kept.last();
        let all = self.given.iter().chain(&last);
        let both = all.flat_map(|one| [Some(one.secret_access_key()), one.session_token()]).flatten();
        both.map(str::to_owned).chain(self.container.iter().filter_map(Container::secret)).collect()
    }

    async fn find(&self) -> Result<TimedCredentials, Refused> {
        if let Some(name) = &self.named {
            let none = || Refused::Credentials(format!("there are no credentials of the profile {name}"));
            return self.of(&self.profiles.get(name).await?.ok_or_else(none)?).await;
        }
        if let Some(role) = &self.role {
            return self.sts.exchange(role).await;
        }
        if let Some(profile) = self.profiles.get("default").await? {
            return self.of(&profile).await;
        }
        match (&self.container, &self.machine) {
            (Some(container), _) => container.ask().await,
            (None, Some(machine)) => machine.ask().await.map_err(|refused| self.nowhere(refused)),
            (None, None) => Err(Refused::Credentials(format!("{NOTHING}, and the machine's is not to be asked"))),
        }
    }

    async fn of(&self, profile: &Profile) -> Result<TimedCredentials, Refused> {
        match profile {
            Profile::Keys(found) => Ok(found.clone()),
            Profile::Program(command) => self.profiles.run(command).await,
            Profile::Role(role) => self.sts.exchange(role).await,
            Profile::Assumed(role) => {
                // Boxed, since a role may lead to the next one.
                let entitled = Box::pin(self.by(&role.by)).await?;
                self.sts.assume(role, entitled).await
            }
            Profile::SignIn(sign_in) => self.portal.credentials(sign_in).await,
        }
    }

    /// Returns the credentials that entitle to a role.
    async fn by(&self, by: &By) -> Result<Credentials, Refused> {
        let missing = |who: &str| Refused::Credentials(format!("the role's credential_source is {who}, which is none"));
        let found = match by {
            By::Profile(profile) => self.of(profile).await?,
            By::Settings => return self.given.clone().ok_or_else(|| missing("the access key of the settings")),
            By::Container => self.container.as_ref().ok_or_else(|| missing("the container"))?.ask().await?,
            By::Machine => self.machine.as_ref().ok_or_else(|| missing("the machine"))?.ask().await?,
        };
        Ok(found.credentials)
    }

    /// Returns a machine that never answered has most likely no such server: waiting would not help.
    fn nowhere(&self, refused: Refused) -> Refused {
        match refused {
            Refused::Unreachable(problem) if self.kept.last().is_none() => {
                Refused::Credentials(format!("{NOTHING}, and {problem}"))
            }
            other => other,
        }
    }
}

/// The message when no place is left but the machine's own role.
const NOTHING: &str = "there is no access key, no profile, and no role of a container";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{llm::access::credential_cache::Fresh, net::Timeouts};

    /// Creates sources; nobody listens where the machine's credentials are.
    fn sources() -> Sources {
        let others = [("metadata_url", "http://127.0.0.1:1".into())].into_iter().collect();
        let endpoint = Endpoint { others, ..Endpoint::default() };
        Sources::new(&endpoint, "us-east-1", &ApiClients::new(Timeouts::default()).unwrap())
    }

    #[tokio::test]
    async fn credentials_that_cannot_be_renewed_are_used_to_their_end() {
        let sources = sources();
        assert!(matches!(sources.credentials().await, Err(Refused::Credentials(_))), "nobody was ever there");
        let sources = self::sources();
        let ends_in = Duration::from_secs(60);
        sources.kept.keep(Fresh {
            value: Credentials::new("AKIA1", "s1", None, None, "test"),
            renew_in: Duration::ZERO,
            ends_in,
        });
        assert_eq!(sources.credentials().await.unwrap().access_key_id(), "AKIA1");
        sources.forget();
        assert!(matches!(sources.credentials().await, Err(Refused::Unreachable(_))), "what was refused is not used");
        assert_eq!(sources.secrets(), ["s1"], "and stays hidden");
    }
}
