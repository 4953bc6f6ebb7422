//! The scene of a measurement: fakes on a thread of their own, a database, and services that are started over them.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    Kind, LIMIT,
    client::Client,
    database::Cluster,
    world::{Record, Script, World},
};

/// Ticks of a second in `/proc/PID/stat`: 100 on every Linux there is.
const TICK_MS: f64 = 10.0;
/// A service rests this long before its idle memory is read.
const REST: Duration = Duration::from_secs(1);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Has services be started of that program; call it before the first one.
pub fn choose_program(program: Option<PathBuf>) {
    let _ = PROGRAM.set(program.unwrap_or_else(fathom_testkit::program::path));
}

pub struct Scene {
    pub world: World,
    _fakes: Fakes,
    pub cluster: Option<Cluster>,
    pub folder: TempDir,
}

/// The fakes' own threads, which may not be waited for among others' tasks.
struct Fakes(Option<tokio::runtime::Runtime>);

impl Drop for Fakes {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(tokio::runtime::Runtime::shutdown_background);
    }
}

impl Scene {
    /// Fakes that follow `script`, and an empty database of that kind.
    pub fn new(kind: Kind, script: Script, record: Record) -> anyhow::Result<Self> {
        let fakes = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        fakes.spawn(async move {
            let _ = sender.send(World::recording(script, record).await);
        });
        let world = receiver.recv()?;
        let cluster = (kind == Kind::Postgres).then(Cluster::timestamped);
        Ok(Self { world, _fakes: Fakes(Some(fakes)), cluster, folder: tempfile::tempdir()? })
    }

    /// Starts a service on this scene's database and waits until it is ready.
    pub async fn serve(&self, settings: &[(&str, &str)]) -> anyhow::Result<Service> {
        self.serve_by(&["setpriv", "--pdeathsig", "KILL"], settings).await
    }

    /// As [`Scene::serve`], on the first core alone; everything else moves to the others, the database included.
    pub async fn serve_on_one_core(&self, settings: &[(&str, &str)]) -> anyhow::Result<Service> {
        let cores = String::from_utf8(Command::new("nproc").arg("--all").output()?.stdout)?;
        let rest = format!("1-{}", cores.trim().parse::<usize>()? - 1);
        let mine = std::process::id().to_string();
        ensure!(Command::new("taskset").args(["-a", "-p", "-c", &rest, &mine]).output()?.status.success());
        let postgres = Command::new("pgrep").args(["-f", &self.socket_folder()]).output()?;
        for id in String::from_utf8(postgres.stdout)?.lines().filter(|_| self.cluster.is_some()) {
            // Processes may end in between.
            let _ = Command::new("taskset").args(["-a", "-p", "-c", &rest, id]).output()?;
        }
        self.serve_by(&["setpriv", "--pdeathsig", "KILL", "taskset", "-c", "0"], settings).await
    }

    /// Processor time of all the database server's processes so far; 0 when it is embedded.
    pub fn database_cpu_ms(&self) -> anyhow::Result<f64> {
        if self.cluster.is_none() {
            return Ok(0.0);
        }
        let server = std::fs::read_to_string(format!("{}/data/postmaster.pid", self.socket_folder()))?;
        let server = server.lines().next().context("the server's id")?;
        let mut ms = 0.0;
        for entry in std::fs::read_dir("/proc")? {
            let Ok(stat) = std::fs::read_to_string(entry?.path().join("stat")) else { continue };
            let is_server = stat.split(' ').next() == Some(server);
            let Some(fields) = stat.rsplit_once(')').map(|(_, fields)| fields.split_whitespace()) else { continue };
            if is_server || fields.clone().nth(1) == Some(server) {
                // Of the server itself, its ended children too.
                let taken = if is_server { 4 } else { 2 };
                ms += fields.skip(11).take(taken).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() * TICK_MS;
            }
        }
        Ok(ms)
    }

    /// Gives this process all cores again.
    pub fn unpin() -> anyhow::Result<()> {
        let mine = std::process::id().to_string();
        ensure!(Command::new("taskset").args(["-a", "-p", "-c", "0-1023", &mine]).output()?.status.success());
        Ok(())
    }

    fn socket_folder(&self) -> String {
        let url = self.cluster.as_ref().map(|cluster| cluster.url("postgres")).unwrap_or_default();
        url.split("host=").nth(1).unwrap_or("-").to_owned()
    }

    /// Starts the service by `wrapper`, which becomes it.
    pub async fn serve_by(&self, wrapper: &[&str], settings: &[(&str, &str)]) -> anyhow::Result<Service> {
        let program = PROGRAM.get().and_then(|path| path.to_str()).context("a program was chosen")?;
        let words: Vec<&str> = wrapper.iter().copied().chain([program, "serve"]).collect();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(self.world.environment())
            .env("FATHOM_DATA_DIR", self.folder.path())
            .env("FATHOM_LISTEN", "127.0.0.1:0")
            .env("FATHOM_LOG", "warn")
            .env("FATHOM_MAX_QUEUED_RUNS", "100000")
            .env("FATHOM_MAX_QUEUED_RUNS_PER_OWNER", "100000")
            .envs(settings.iter().copied())
            .current_dir(self.world.folder())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        if let Some(cluster) = &self.cluster {
            command.env("DATABASE_URL", cluster.url("postgres"));
        }
        let log = self.folder.path().join(format!("log.{}", uuid::Uuid::now_v7()));
        command.stderr(std::fs::File::create(&log)?);
        let started = Instant::now();
        let mut process = command.spawn()?;
        let output = process.stdout.take().context("it has an output")?;
        let mut service = Service { process, address: ([127, 0, 0, 1], 0).into(), log, started, ready_ms: 0.0 };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.split("http://").nth(1).and_then(|rest| rest.split_whitespace().next());
        service.address = address.with_context(|| service.log()).context("it did not start")?.parse()?;
        service.wait_until_ready().await?;
        Ok(service)
    }
}

/// A running `fathom serve`; killed when dropped.
pub struct Service {
    process: Child,
    pub address: SocketAddr,
    log: PathBuf,
    started: Instant,
    /// From its start to its first readiness.
    pub ready_ms: f64,
}

impl Service {
    async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        while self.started.elapsed() < LIMIT {
            if self.client().await?.get("/readyz").await?.0 == 200 {
                self.ready_ms = self.started.elapsed().as_secs_f64() * 1_000.0;
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        anyhow::bail!("it never became ready: {}", self.log())
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub async fn client(&self) -> anyhow::Result<Client> {
        Client::connect(self.address).await
    }

    /// Creates a thread; its id and that of its run.
    pub async fn ask(&self, client: &mut Client, number: usize) -> anyhow::Result<(String, String)> {
        let message = format!("How did canal number {number} change its valley, and what did it cost?");
        let (status, body) = client.post("/api/v1/threads", &json!({ "message": message })).await?;
        ensure!(status == 201, "{status}: {}", String::from_utf8_lossy(&body));
        let body: Value = serde_json::from_slice(&body)?;
        let id = |name: &str| body[name]["id"].as_str().map(str::to_owned).context("an id");
        Ok((id("thread")?, id("run")?))
    }

    /// Waits until as many runs stand so.
    pub async fn wait_for_runs(&self, status: &str, count: usize) -> anyhow::Result<()> {
        let mut client = self.client().await?;
        let since = Instant::now();
        while since.elapsed() < LIMIT {
            if self.count(&mut client, status).await? >= count {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        anyhow::bail!("there were never {count} runs {status}: {}", self.log())
    }

    pub async fn count(&self, client: &mut Client, status: &str) -> anyhow::Result<usize> {
        let (mut count, mut path) = (0, format!("/api/v1/runs?status={status}&limit=100"));
        loop {
            let page = client.json(&path).await?;
            count += page["data"].as_array().map_or(0, Vec::len);
            let Some(cursor) = page["next_cursor"].as_str() else { return Ok(count) };
            path = format!("/api/v1/runs?status={status}&limit=100&cursor={cursor}");
        }
    }

    /// Processor time of all its threads so far.
    pub fn cpu_ms(&self) -> anyhow::Result<f64> {
        cpu_ms(&self.id().to_string())
    }

    /// `VmRSS` or `VmHWM`, in MB of a million bytes.
    pub fn memory_mb(&self, name: &str) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kib: f64 = line.and_then(|line| line.trim().strip_suffix(" kB")).context("/proc/PID/status")?.parse()?;
        Ok(kib * 1.024 / 1_000.0)
    }

    /// Resident memory after a rest.
    pub async fn idle_mb(&self) -> anyhow::Result<f64> {
        tokio::time::sleep(REST).await;
        self.memory_mb("VmRSS")
    }

    /// Ends it politely.
    pub fn stop(mut self) -> anyhow::Result<()> {
        let id = self.id().to_string();
        ensure!(Command::new("kill").args(["-TERM", &id]).status()?.success());
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Processor time of all threads of a process so far.
pub fn cpu_ms(id: &str) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    // Fields are counted behind the name in parentheses, which may contain anything (proc_pid_stat(5)).
    let (_, fields) = stat.rsplit_once(')').context("/proc/PID/stat has a name")?;
    let ticks: f64 = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks * TICK_MS)
}
