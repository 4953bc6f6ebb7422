//! The redirects that a client of one server may follow: to another path of that server.

use reqwest::redirect::{Action, Attempt, Policy};

use super::shown_url;

/// Redirects of one request that are followed.
const MAX_REDIRECTS: usize = 3;

/// Returns the policy by which a request goes on within its origin where its method and its body are kept. Any other
/// redirect fails it, and the cause of that error says where it leads.
pub(super) fn within_origin() -> Policy {
    Policy::custom(judge)
}

fn judge(attempt: Attempt<'_>) -> Action {
    let keeps_body = matches!(attempt.status().as_u16(), 307 | 308);
    let is_same = attempt.previous().last().is_some_and(|previous| previous.origin() == attempt.url().origin());
    if keeps_body && is_same && attempt.previous().len() <= MAX_REDIRECTS {
        return attempt.follow();
    }
    let (status, target) = (attempt.status(), shown_url(attempt.url()));
    attempt.error(format!("HTTP {status}, a redirect to {target} that is not followed"))
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use axum::{Router, response::Redirect, routing::any};
    use tokio::{net::TcpListener, task::JoinSet};

    use crate::net::{ApiClients, Reach, Timeouts, guarded_within_origin};

    #[tokio::test]
    async fn a_request_goes_on_within_its_origin_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/echo", any(async |body: String| body))
            .route("/moved", any(async || Redirect::permanent("/moved/")))
            .route("/moved/", any(async || Redirect::temporary("/echo")))
            .route("/round", any(async || Redirect::temporary("/round")))
            .route("/found", any(async || Redirect::to("/echo")))
            .route("/elsewhere", any(async || Redirect::temporary("http://a:b@127.0.0.1:1/echo?key=pa55word")));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        let near = Reach::Public(["127.0.0.0/8".parse().unwrap()].into());
        let guarded = guarded_within_origin(Timeouts::default(), near).unwrap();
        for client in [ApiClients::within_origin(Timeouts::default()).unwrap().direct().clone(), guarded] {
            let post = |path: &str| client.post(format!("{origin}{path}")).body("dues").send();
            assert_eq!(post("/moved").await.unwrap().text().await.unwrap(), "dues");
            for (path, target) in [
                ("/round", format!("{origin}/round")),
                ("/found", format!("{origin}/echo")),
                ("/elsewhere", "http://127.0.0.1:1/echo".to_owned()),
            ] {
                let error = post(path).await.unwrap_err();
                let cause = error.source().unwrap().to_string();
                assert!(cause.ends_with(&format!("a redirect to {target} that is not followed")), "{path}: {cause}");
            }
        }
    }
}
