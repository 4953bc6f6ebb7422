//! Fresh databases for tests: a SQLite file each, or a database each in one throw-away Postgres cluster.
//!
//! The cluster belongs to the test process: a small shell waits for the process to close a pipe, however it ends, then
//! stops the server and removes its files. Nothing is skipped when Postgres is missing: the tests fail and say what to
//! do.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use fathom::store::{Database, Store, Synchronous};
use parking_lot::Mutex;
use secrecy::{ExposeSecret as _, SecretString};
use sqlx::{Connection as _, Executor as _, PgConnection, SqliteConnection};
use tempfile::TempDir;
use uuid::Uuid;

const INSTALL: &str = "run scripts/test.sh, which installs PostgreSQL";
const START_LIMIT: Duration = Duration::from_secs(60);
const TABLES: [&str; 7] = ["threads", "messages", "runs", "steps", "events", "sources", "notes"];

/// An empty database of its own for one test; gone with the last clone of the value, or with the cluster.
#[derive(Clone)]
pub struct TestDatabase {
    pub database: Database,
    _files: Arc<Files>,
}

/// What a database takes up on the disk.
enum Files {
    Sqlite {
        _folder: TempDir,
    },
    /// Dropped when the next one is created: more than two hundred at once would be 2 GB.
    Postgres {
        name: String,
        dropped: Arc<Mutex<Vec<String>>>,
    },
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Self::Postgres { name, dropped } = self {
            dropped.lock().push(std::mem::take(name));
        }
    }
}

impl TestDatabase {
    /// Returns a file that does not exist yet, in a folder that does not exist yet.
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data").join("fathom.db");
        let database = Database::Sqlite { path, synchronous: Synchronous::Normal };
        Self { database, _files: Arc::new(Files::Sqlite { _folder: folder }) }
    }

    /// Returns a new database in this process's cluster.
    pub async fn postgres() -> Self {
        Self::within(Cluster::of_this_process()).await
    }

    /// Returns a new database in that cluster.
    pub async fn within(cluster: &Cluster) -> Self {
        let name = format!("t_{}", Uuid::now_v7().simple());
        let mut admin = PgConnection::connect(&cluster.url("postgres")).await.unwrap();
        let dropped = std::mem::take(&mut *cluster.dropped.lock());
        for name in dropped {
            admin.execute(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)").as_str()).await.unwrap();
        }
        admin.execute(format!("CREATE DATABASE {name}").as_str()).await.unwrap();
        let url = SecretString::from(cluster.url(&name));
        let files = Files::Postgres { name, dropped: Arc::clone(&cluster.dropped) };
        Self { database: Database::Postgres { url, max_connections: 10 }, _files: Arc::new(files) }
    }

    /// Returns a store on this database; more than one may be opened.
    pub async fn open(&self) -> Store {
        Store::open(&self.database).await.unwrap()
    }

    /// Returns the number of rows in each table.
    pub async fn row_counts(&self) -> Vec<(&'static str, i64)> {
        let mut counts = Vec::new();
        for table in TABLES {
            let count = format!("SELECT COUNT(*) FROM {table}");
            let count = match &self.database {
                Database::Postgres { url, .. } => {
                    sqlx::query_scalar(&count).fetch_one(&mut connect_postgres(url).await).await.unwrap()
                }
                Database::Sqlite { path, .. } => {
                    sqlx::query_scalar(&count).fetch_one(&mut connect_sqlite(path).await).await.unwrap()
                }
            };
            counts.push((table, count));
        }
        counts
    }

    /// Returns the number that a query answers with; Postgres alone.
    pub async fn count(&self, sql: &'static str) -> i64 {
        let Database::Postgres { url, .. } = &self.database else { panic!("only on Postgres") };
        sqlx::query_scalar(sql).fetch_one(&mut connect_postgres(url).await).await.unwrap()
    }

    /// Returns the text that a query answers with; `None` for no row, or NULL.
    pub async fn text(&self, sql: &'static str) -> Option<String> {
        let found: Option<Option<String>> = match &self.database {
            Database::Postgres { url, .. } => {
                sqlx::query_scalar(sql).fetch_optional(&mut connect_postgres(url).await).await.unwrap()
            }
            Database::Sqlite { path, .. } => {
                sqlx::query_scalar(sql).fetch_optional(&mut connect_sqlite(path).await).await.unwrap()
            }
        };
        found.flatten()
    }

    /// Ends the connections of everybody who works on this database; Postgres alone.
    pub async fn drop_connections(&self) {
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'fathom'",
        )
        .await;
    }

    /// Changes the database behind the store's back.
    pub async fn execute(&self, sql: &'static str) {
        match &self.database {
            Database::Postgres { url, .. } => _ = connect_postgres(url).await.execute(sql).await.unwrap(),
            Database::Sqlite { path, .. } => _ = connect_sqlite(path).await.execute(sql).await.unwrap(),
        }
    }

    /// Runs statements and answers with the rows of all of them, as many as there are.
    pub async fn rows(&self, sql: String) -> Result<usize, sqlx::Error> {
        let sql = sqlx::raw_sql(&sql);
        Ok(match &self.database {
            Database::Postgres { url, .. } => sql.fetch_all(&mut connect_postgres(url).await).await?.len(),
            Database::Sqlite { path, .. } => sql.fetch_all(&mut connect_sqlite(path).await).await?.len(),
        })
    }

    /// Applies migrations as an earlier release did, which knew no others.
    pub async fn migrate(&self, migrator: &sqlx::migrate::Migrator) {
        match &self.database {
            Database::Postgres { url, .. } => {
                migrator.run_direct(&mut connect_postgres(url).await).await.unwrap();
            }
            Database::Sqlite { path, .. } => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).create_if_missing(true);
                let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
                migrator.run_direct(&mut connection).await.unwrap();
            }
        }
    }

    /// Takes the database away until [`Outage::end`]: Postgres ends all its connections and accepts no new ones; in
    /// SQLite another connection holds the write lock.
    pub async fn outage(&self) -> Outage {
        match &self.database {
            Database::Postgres { url, .. } => {
                let name = url.expose_secret().split(['/', '?']).nth(3).unwrap().to_owned();
                let admin = PgConnection::connect(&Cluster::of_this_process().url("postgres")).await.unwrap();
                let mut outage = Outage::Postgres { admin, name, other_name: None };
                outage.allow_connections(false).await;
                outage
            }
            Database::Sqlite { path, .. } => {
                let mut holder = connect_sqlite(path).await;
                holder.execute("BEGIN IMMEDIATE").await.unwrap();
                Outage::Sqlite { holder }
            }
        }
    }
}

/// A database that is away.
pub enum Outage {
    Postgres { admin: PgConnection, name: String, other_name: Option<String> },
    Sqlite { holder: SqliteConnection },
}

impl Outage {
    /// Brings the database back.
    pub async fn end(mut self) {
        match &mut self {
            Self::Postgres { .. } => self.allow_connections(true).await,
            Self::Sqlite { holder } => _ = holder.execute("ROLLBACK").await.unwrap(),
        }
    }

    /// Gives the database another name meanwhile; Postgres alone.
    pub async fn rename(&mut self) {
        let Self::Postgres { admin, name, other_name } = self else { return };
        let other = other_name.insert(format!("{name}_away"));
        admin.execute(format!("ALTER DATABASE {name} RENAME TO {other}").as_str()).await.unwrap();
    }

    async fn allow_connections(&mut self, allow: bool) {
        let Self::Postgres { admin, name, other_name } = self else { return };
        if let Some(other) = other_name.take() {
            admin.execute(format!("ALTER DATABASE {other} RENAME TO {name}").as_str()).await.unwrap();
        }
        let alter = format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {allow}");
        admin.execute(alter.as_str()).await.unwrap();
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1";
        sqlx::query(end).bind(name.as_str()).execute(admin).await.unwrap();
    }
}

async fn connect_postgres(url: &SecretString) -> PgConnection {
    PgConnection::connect(url.expose_secret()).await.unwrap()
}

async fn connect_sqlite(path: &Path) -> SqliteConnection {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).busy_timeout(Duration::from_secs(10));
    SqliteConnection::connect_with(&options).await.unwrap()
}

/// The Postgres server of this test process, reached as a hosted one is: over TCP with TLS.
pub struct Cluster {
    folder: PathBuf,
    port: u16,
    /// Its open standard input is what keeps the server alive.
    guardian: Child,
    /// Databases that no test needs any longer.
    dropped: Arc<Mutex<Vec<String>>>,
}

impl Cluster {
    /// Returns the cluster, started when first needed.
    pub fn of_this_process() -> &'static Self {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        CLUSTER.get_or_init(|| Self::start(NOT_DURABLE))
    }

    /// Returns another cluster, which the test may stop and start. Gone with the value.
    pub fn own() -> Self {
        Self::start(NOT_DURABLE)
    }

    /// Returns another cluster, as durable as a real one: for measurements. Gone with the value.
    pub fn durable() -> Self {
        Self::start("")
    }

    /// Starts a cluster as [`Cluster::durable`] does; it also remembers when each transaction was committed.
    pub fn timestamped() -> Self {
        Self::start("-c track_commit_timestamp=on")
    }

    /// Returns the address of one of its databases.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}?sslmode=require", self.port)
    }

    /// Returns the processor time of the server's processes so far, in milliseconds; Linux only.
    pub fn cpu_ms(&self) -> f64 {
        // Fields of /proc/PID/stat behind the name: 1 is the parent, 11 to 14 the times of itself and of ended
        // children, in hundredths of a second (proc_pid_stat(5)).
        let fields = |pid: &str| -> Option<Vec<f64>> {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some(stat.rsplit_once(')')?.1.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect())
        };
        let pid_file = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap();
        let server = pid_file.lines().next().unwrap();
        let parent: f64 = server.parse().unwrap();
        let processes =
            fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let children = processes.filter_map(|pid| fields(&pid)).filter(|fields| fields.get(1) == Some(&parent));
        let ticks: f64 = children.map(|fields| fields[11..=12].iter().sum::<f64>()).sum();
        let own: f64 = fields(server).map_or(0.0, |fields| fields[11..=14].iter().sum());
        (ticks + own) * 10.0
    }

    /// Stops the server: at once, as in a crash, its connections cut.
    pub fn stop(&mut self) {
        self.order("stop");
        let pid_file = self.folder.join("data/postmaster.pid");
        wait_until("the server is gone", || !pid_file.exists());
    }

    /// Starts it again, and returns at once; it needs a moment to recover.
    pub fn start_again(&mut self) {
        self.order("start");
    }

    fn order(&mut self, order: &str) {
        let guardian = self.guardian.stdin.as_mut().expect("it was made with a pipe");
        writeln!(guardian, "{order}").expect("the guardian reads its orders");
    }

    fn start(settings: &str) -> Self {
        // Held by the guardian, which removes it; the path of the socket, which the server opens too, has to be short,
        // so not below the target folder.
        let folder = tempfile::Builder::new().prefix("fathom-pg-").tempdir().unwrap().keep();
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let port = crate::port::free();
        let mut guardian = as_server_user(&folder)
            .args(["sh", "-c", GUARDIAN, "guardian"])
            .arg(binaries())
            .arg(&folder)
            .arg(format!("{settings} -c port={port}"))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until_ready(&folder, &mut guardian);
        Self { folder, port, guardian, dropped: Arc::default() }
    }
}

/// What makes a cluster fast that is thrown away anyway.
const NOT_DURABLE: &str = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off";

/// `$1` the folder of the programs, `$2` the folder of the cluster, `$3` further settings. It is ordered to stop and
/// start by lines on its standard input. The server gets the signal to quit until it does, since a signal that comes
/// while it starts is lost.
const GUARDIAN: &str = r#"
trap '' INT TERM HUP
"$1/initdb" --no-sync --no-instructions -A trust -U postgres -E UTF8 --no-locale -D "$2/data" >"$2/log" 2>&1 || {
    cat "$2/log" >&2; rm -rf "$2"; exit 1
}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -keyout "$2/data/server.key" -out "$2/data/server.crt" >>"$2/log" 2>&1 || {
    cat "$2/log" >&2; rm -rf "$2"; exit 1
}
chmod 600 "$2/data/server.key"
start() {
    "$1/postgres" -D "$2/data" -k "$2" -c listen_addresses=127.0.0.1 -c ssl=on -c max_connections=300 $3 \
        </dev/null >>"$2/log" 2>&1 &
    server=$!
}
stop() {
    (while kill -QUIT $server; do sleep 0.2; done) 2>/dev/null &
    stopper=$!
    wait $server
    kill -KILL $stopper
    rm -f "$1/data/postmaster.pid"
}
start "$@"
while read -r order; do
    case $order in
    stop) stop "$2" ;;
    start) start "$@" ;;
    esac
done
stop "$2"
rm -rf "$2"
"#;

/// Returns the folder of `initdb` and `postgres`: the newest below /usr/lib/postgresql, or one on the PATH.
fn binaries() -> PathBuf {
    let packaged = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = packaged.map(|folder| folder.join("bin")).collect();
    folders.sort();
    folders.reverse();
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let complete = |folder: &PathBuf| folder.join("initdb").exists() && folder.join("postgres").exists();
    folders.into_iter().find(complete).expect(INSTALL)
}

/// Returns a command that runs as who may run the server. Postgres refuses to run as root: then it runs as the user
/// its package made, who gets the folder.
fn as_server_user(folder: &Path) -> Command {
    if !is_root() {
        return Command::new("env");
    }
    let chown = Command::new("chown").arg("postgres").arg(folder).status().unwrap();
    assert!(chown.success(), "there is no user postgres: {INSTALL}");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.trim_ascii() == b"0"
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < START_LIMIT, "it never came about that {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn wait_until_ready(folder: &Path, guardian: &mut Child) {
    let started = Instant::now();
    let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
    while !log().contains("ready to accept connections") {
        if guardian.try_wait().unwrap().is_some() {
            let mut text = String::new();
            guardian.stderr.take().unwrap().read_to_string(&mut text).unwrap();
            panic!("the Postgres cluster did not start: {text}");
        }
        assert!(started.elapsed() < START_LIMIT, "the Postgres cluster did not become ready: {}", log());
        std::thread::sleep(Duration::from_millis(20));
    }
}
