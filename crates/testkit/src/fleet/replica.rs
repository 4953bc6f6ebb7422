//! One service: the real binary on a free port, with a short lease.

use std::{path::PathBuf, time::Duration};

use fathom::store::Database;
use reqwest::Client;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::{Balancer, Reader};
use crate::world::{Running, World};

/// The shortest lease there is.
pub const LEASE: Duration = Duration::from_secs(2);
/// How long any condition may take to come about.
const PATIENCE: Duration = Duration::from_secs(30);
const API: &str = "/api/v1";

/// A service; killed when dropped.
pub struct Replica {
    pub running: Running,
    /// Such as `127.0.0.1:40123`.
    pub address: String,
    client: Client,
}

impl Replica {
    /// Starts one on this database and waits until it answers.
    pub async fn start(world: &World, database: &Database) -> Self {
        Self::start_with(world, database, &[]).await
    }

    /// Returns the same, with more in its environment, which goes first.
    pub async fn start_with(world: &World, database: &Database, variables: &[(&str, &str)]) -> Self {
        let mut command = world.fathom(&["serve"]);
        command
            .env("FATHOM_LISTEN", "127.0.0.1:0")
            .env("FATHOM_LEASE_SECONDS", LEASE.as_secs().to_string())
            .env("FATHOM_GRACE_SECONDS", "5")
            .env("FATHOM_DB_CONNECTIONS", "4");
        match database {
            Database::Sqlite { path, .. } => _ = command.env("FATHOM_DATA_DIR", path.parent().unwrap_or(path)),
            Database::Postgres { url, .. } => {
                let data_dir: PathBuf = world.folder().join("data");
                command.env("FATHOM_DATA_DIR", data_dir).env("DATABASE_URL", url.expose_secret());
            }
        }
        command.envs(variables.iter().copied());
        let mut running = Running::spawn(command, world.folder());
        let line = running.says(" on http://").await;
        let address = line.split_once(" on http://").and_then(|(_, rest)| rest.split_whitespace().next());
        let address = address.expect("the banner names the address").to_owned();
        let client = Client::builder().timeout(Duration::from_secs(30)).no_proxy().build().expect("a client");
        Self { running, address, client }
    }

    pub fn pid(&self) -> u32 {
        self.running.id().expect("it was not waited for yet")
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Starts a run with a question of its own thread and answers with `{thread, run}`.
    pub async fn ask(&self, question: &str) -> Value {
        let (status, body) = self.ask_with_key(question, None).await;
        assert_eq!(status, 201, "{body}\n{}", self.running.stderr());
        body
    }

    /// Asks as [`Self::ask`] does, with an idempotency key, and returns the answer whatever it is.
    pub async fn ask_with_key(&self, question: &str, key: Option<&str>) -> (u16, Value) {
        let body = json!({"message": question, "options": {"allow_clarification": true}});
        let mut request = self.client.post(self.url(&format!("{API}/threads"))).json(&body);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let response = request.send().await.expect("the replica answers");
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        let response = self.client.get(self.url(path)).send().await.expect("the replica answers");
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    pub async fn post(&self, path: &str) -> u16 {
        self.client.post(self.url(path)).send().await.expect("the replica answers").status().as_u16()
    }

    pub async fn delete(&self, path: &str) -> u16 {
        self.client.delete(self.url(path)).send().await.expect("the replica answers").status().as_u16()
    }

    /// Waits until it is ready, as a load balancer would.
    pub async fn is_ready(&self) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let last = match self.client.get(self.url("/readyz")).timeout(Duration::from_secs(2)).send().await {
                Ok(response) if response.status().as_u16() == 200 => return,
                Ok(response) => response.text().await.unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            assert!(tokio::time::Instant::now() < deadline, "it is not ready: {last}\n{}", self.running.stderr());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends it as an operator would, and checks that it went in peace.
    pub async fn stop(mut self) {
        self.running.terminate().await;
        let status = self.running.ends().await;
        assert!(status.success(), "{status}: {}", self.running.stderr());
    }
}

/// Several services on one database, and a balancer before them.
pub struct Fleet {
    pub replicas: Vec<Replica>,
    pub balancer: Balancer,
    variables: &'static [(&'static str, &'static str)],
}

impl Fleet {
    pub async fn start(world: &World, database: &Database, count: usize) -> Self {
        Self::start_with(world, database, count, &[]).await
    }

    /// Returns the same, with more in the environment of each, also of those that come later.
    pub async fn start_with(
        world: &World,
        database: &Database,
        count: usize,
        variables: &'static [(&'static str, &'static str)],
    ) -> Self {
        let starting = (0..count).map(|_| Replica::start_with(world, database, variables));
        let replicas = futures::future::join_all(starting).await;
        let fleet = Self { replicas, balancer: Balancer::start().await, variables };
        fleet.balance();
        fleet
    }

    /// Returns these services, started one by one.
    pub async fn of(replicas: Vec<Replica>) -> Self {
        let fleet = Self { replicas, balancer: Balancer::start().await, variables: &[] };
        fleet.balance();
        fleet
    }

    /// Tells the balancer where the services are.
    pub fn balance(&self) {
        self.balancer.serve(self.replicas.iter().map(|replica| replica.address.clone()).collect());
    }

    /// Puts another service into the place of one that has gone.
    pub async fn replace(&mut self, place: usize, world: &World, database: &Database) {
        self.replicas[place] = Replica::start_with(world, database, self.variables).await;
        self.balance();
    }

    /// Follows a run through the balancer.
    pub fn reader(&self, run_id: &str) -> Reader {
        Reader::start(run_id, vec![self.balancer.address.clone()])
    }

    /// Returns the place of the service with this process id.
    pub fn place_of(&self, pid: u32) -> Option<usize> {
        self.replicas.iter().position(|replica| replica.running.id() == Some(pid))
    }
}
