//! The real binary as a service on a free port.

use std::time::Duration;

use reqwest::{
    Client,
    header::{AUTHORIZATION, HeaderMap},
};
use serde_json::Value;
use tokio::process::Command;

use crate::world::{Running, World};

/// Takes away what the world sets so that models and the web can be reached.
pub fn without_keys(command: &mut Command) {
    for name in ["OPENAI_BASE_URL", "OPENAI_API_KEY", "TAVILY_BASE_URL", "TAVILY_API_KEY"] {
        command.env_remove(name);
    }
}

/// A running service; killed when dropped.
pub struct Service {
    running: Running,
    /// Such as `127.0.0.1:40123`.
    pub address: String,
    pub client: Client,
}

impl Service {
    /// Starts `fathom serve` in this world, with these further arguments, and waits until it is ready.
    pub async fn start(world: &World, arguments: &[&str]) -> Self {
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
        Self::running(world.spawn(&arguments)).await
    }

    /// The same, with further variables.
    pub async fn with(world: &World, variables: &[(&str, &str)]) -> Self {
        let mut command = world.fathom(&["serve", "--listen", "127.0.0.1:0"]);
        command.envs(variables.iter().copied());
        Self::running(Running::spawn(command, world.folder())).await
    }

    /// The same at an address and with a variable, to be there again after a stop.
    pub async fn at(world: &World, address: &str, (name, value): (&str, &str)) -> Self {
        let mut command = world.fathom(&["serve", "--listen", address]);
        command.env(name, value);
        Self::running(Running::spawn(command, world.folder())).await
    }

    /// The same without any model or search engine: the offline model over the example library.
    pub async fn offline(world: &World) -> Self {
        Self::offline_with(world, &[]).await
    }

    /// The same, with further variables.
    pub async fn offline_with(world: &World, variables: &[(&str, &str)]) -> Self {
        Self::in_the_sources(world, &["serve", "--docs", "examples/library"], variables).await
    }

    /// Started with these arguments in the folder of the sources, without any key.
    pub async fn without_keys(world: &World, arguments: &[&str]) -> Self {
        Self::in_the_sources(world, arguments, &[]).await
    }

    async fn in_the_sources(world: &World, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = world.fathom(&[arguments, &["--listen", "127.0.0.1:0"]].concat());
        without_keys(&mut command);
        command.envs(variables.iter().copied());
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        Self::running(Running::spawn(command, world.folder())).await
    }

    async fn running(mut running: Running) -> Self {
        let line = running.says(" on http://").await;
        let (_, address) = line.split_once(" on http://").unwrap();
        let address = address.split_whitespace().next().unwrap().to_owned();
        let client = Client::builder().timeout(Duration::from_secs(30)).no_proxy().build().unwrap();
        let service = Self { running, address, client };
        service.until("/readyz", |text| text.contains(r#""status":"ready""#)).await;
        service
    }

    /// Its client sends this in each request.
    pub fn authorized(self, authorization: &str) -> Self {
        let headers = HeaderMap::from_iter([(AUTHORIZATION, authorization.parse().unwrap())]);
        let builder = Client::builder().timeout(Duration::from_secs(30)).no_proxy().default_headers(headers);
        Self { client: builder.build().unwrap(), ..self }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Starts a run and answers with `{thread, run}`.
    pub async fn ask(&self, message: &str) -> Value {
        let body = serde_json::json!({"message": message}).to_string();
        let request =
            self.client.post(self.url("/api/v1/threads")).header("content-type", "application/json").body(body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 201, "{}", self.running.stderr());
        response.json().await.unwrap()
    }

    pub async fn text(&self, path: &str) -> String {
        self.client.get(self.url(path)).send().await.unwrap().text().await.unwrap()
    }

    /// Waits until what is at `path` is as wanted.
    pub async fn until(&self, path: &str, wanted: impl Fn(&str) -> bool) {
        for _ in 0..1_000 {
            if wanted(&self.text(path).await) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{path} stays {}\n{}", self.text(path).await, self.running.stderr());
    }

    /// Ends it as an operator would, and checks that it went in peace.
    pub async fn stop(mut self) {
        self.running.terminate().await;
        let status = self.running.ends().await;
        assert!(status.success(), "{status}: {}", self.running.stderr());
    }
}
