//! What clouds want to know beside a key: settings by the names of their own programs' variables.
//!
//! `providers.rs` says which provider has which, `access/` what they mean for a request.

/// A further setting of a provider.
#[derive(Debug)]
pub struct Other {
    /// In its table of the settings file.
    pub name: &'static str,
    pub variable: &'static str,
    /// Another variable that is read when that one is not set.
    pub other_variable: Option<&'static str>,
    pub is_secret: bool,
    /// Whether it says who the service is to a cloud, or whom it asks for that. Such are not taken from a file that was
    /// merely found.
    pub leads_out: bool,
    pub meaning: &'static str,
}

const fn other(name: &'static str, variable: &'static str, meaning: &'static str) -> Other {
    Other { name, variable, other_variable: None, is_secret: false, leads_out: false, meaning }
}

const fn leading(name: &'static str, variable: &'static str, meaning: &'static str) -> Other {
    Other { leads_out: true, ..other(name, variable, meaning) }
}

const fn secret(name: &'static str, variable: &'static str, meaning: &'static str) -> Other {
    Other { is_secret: true, ..other(name, variable, meaning) }
}

pub(super) const GOOGLE_CLOUD: &[Other] = &[
    other("project", "GOOGLE_CLOUD_PROJECT", "the project that pays; Vertex AI can be used when it is set"),
    other("location", "GOOGLE_CLOUD_LOCATION", "where models run: a region, us, eu or global; unset: global"),
    leading(
        "credentials",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "file of a service account or of a user; unset: the file of gcloud, else the machine's account",
    ),
    leading("metadata_host", "GCE_METADATA_HOST", "the machine's metadata server, if it does not have its usual name"),
];

pub(super) const AMAZON_CLOUD: &[Other] = &[
    Other {
        other_variable: Some("AWS_DEFAULT_REGION"),
        ..other("region", "AWS_REGION", "the region to call; Bedrock can be used when it is set")
    },
    other("access_key_id", "AWS_ACCESS_KEY_ID", "name of an access key"),
    secret("secret_access_key", "AWS_SECRET_ACCESS_KEY", "the access key, which signs requests"),
    secret("session_token", "AWS_SESSION_TOKEN", "goes with a temporary access key"),
    leading(
        "profile",
        "AWS_PROFILE",
        "the profile to use; credentials are then looked for nowhere else; unset: docs/providers.md has the order",
    ),
    leading("credentials", "AWS_SHARED_CREDENTIALS_FILE", "file of keys by profile; unset: ~/.aws/credentials"),
    leading(
        "config",
        "AWS_CONFIG_FILE",
        "file of profiles, which may name programs that print keys; unset: ~/.aws/config",
    ),
    leading("role_arn", "AWS_ROLE_ARN", "role to assume with the token of web_identity_token_file"),
    leading("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE", "file with the token of a service account"),
    other("role_session_name", "AWS_ROLE_SESSION_NAME", "name for sessions of that role; unset: fathom"),
    leading("sts_url", "AWS_ENDPOINT_URL_STS", "where roles are assumed; unset: STS of the region"),
    leading(
        "sso_url",
        "AWS_ENDPOINT_URL_SSO",
        "where users who signed in get credentials; unset: as their profile says",
    ),
    leading(
        "sso_oidc_url",
        "AWS_ENDPOINT_URL_SSO_OIDC",
        "where such sign-ins are renewed; unset: as their profile says",
    ),
    leading(
        "container_path",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "path of a task's credentials at the agent of ECS; ECS sets it",
    ),
    leading("container_url", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "address of a pod's credentials; EKS sets it"),
    Other {
        leads_out: true,
        ..secret("container_token", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "token that is sent to that address")
    },
    leading(
        "container_token_file",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        "file with the token for that address; EKS sets it",
    ),
    leading(
        "metadata_url",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "the machine's metadata service, if it is not at http://169.254.169.254",
    ),
    other("metadata_disabled", "AWS_EC2_METADATA_DISABLED", "true: the machine is not asked for its role"),
];
