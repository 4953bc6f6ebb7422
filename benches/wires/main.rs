//! What a model call costs us beside its HTTP, each dialect: a request of 16 KB, and its answer as a stream of 100
//! pieces of text.
//!
//! `cargo bench --bench wires -- [--rounds N] [--calls N] [DIALECT …]`
//!
//! One thread makes the calls by [`Llm`], and then the same ones by a bare client that throws away what it reads; a
//! server on loopback answers both with bytes that were made before. The difference of the thread's processor time is
//! ours: the queue, the request as bytes, the stream taken apart, read and put together. The figures we keep are in
//! README.md beside this folder.

#![allow(clippy::print_stdout, reason = "a program for developers")]

mod answers;
mod server;

use std::{collections::BTreeMap, time::Duration};

use clap::Parser;
use fathom::llm::{
    Delta, Endpoint, Llm, Message, OutputFormat, Request, Sending, Settings, ToolCall, ToolChoice, ToolSpec, Wait,
};
use futures::StreamExt as _;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use server::{Sent, Server};

/// Microseconds of processor time that a call may cost us.
const AIM: f64 = 150.0;
/// Bytes of a request, at least.
const REQUEST: usize = 16 * 1024;

/// Measures what model calls cost beside their HTTP.
#[derive(Parser)]
struct Arguments {
    /// Words of the titles of what to measure; all when nothing is named.
    dialects: Vec<String>,
    /// How often each client makes its calls, in turns.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Calls of a round.
    #[arg(long, default_value_t = 200)]
    calls: u32,
    /// Added by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A dialect as it is spoken to one provider.
struct Dialect {
    title: &'static str,
    model: &'static str,
    /// A whole HTTP answer.
    answer: fn() -> Vec<u8>,
    /// Further settings; a key where there are none.
    others: &'static [(&'static str, &'static str)],
}

const SIGNED: &[(&str, &str)] =
    &[("region", "us-east-1"), ("access_key_id", "AKIABENCH"), ("secret_access_key", "secret")];

const DIALECTS: [Dialect; 6] = [
    Dialect { title: "Chat Completions", model: "openai:gpt-4.1", answer: answers::chat, others: &[] },
    Dialect { title: "Responses", model: "openai-responses:gpt-5.4", answer: answers::responses, others: &[] },
    Dialect { title: "Messages", model: "anthropic:claude-sonnet-5-5", answer: answers::messages, others: &[] },
    Dialect { title: "Gemini", model: "google:gemini-3.6-flash", answer: answers::gemini, others: &[] },
    Dialect {
        title: "Converse",
        model: "bedrock:us.anthropic.claude-sonnet-5-5",
        answer: answers::converse,
        others: &[("region", "us-east-1")],
    },
    // What it costs more is the signature.
    Dialect {
        title: "Converse, signed",
        model: "bedrock:us.anthropic.claude-sonnet-5-5",
        answer: answers::converse,
        others: SIGNED,
    },
];

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let named = |title: &str| arguments.dialects.iter().any(|word| title.to_lowercase().contains(&word.to_lowercase()));
    println!("| dialect | request | answer | ours, median | least | most | aim | | its HTTP, median |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for dialect in DIALECTS.iter().filter(|dialect| arguments.dialects.is_empty() || named(dialect.title)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        println!("{}", runtime.block_on(dialect.measured(&arguments))?);
    }
    println!(
        "\nµs of processor time a call; load average at the end: {}",
        std::fs::read_to_string("/proc/loadavg")?.trim()
    );
    Ok(())
}

impl Dialect {
    /// Its row of the table.
    async fn measured(&self, arguments: &Arguments) -> anyhow::Result<String> {
        let answer = (self.answer)();
        let (server, bytes) = (Server::start(answer.clone())?, answer.len());
        let (llm, request) = (self.llm(&server)?, request(self.model)?);
        #[expect(clippy::disallowed_methods, reason = "a bare client, to compare ours with")]
        let http = reqwest::Client::builder().no_proxy().build()?;
        let ours = async || by_our_layer(&llm, &request).await;
        // Once, for the connection and to see what is sent.
        ours().await?;
        let sent = server.sent();
        anyhow::ensure!(sent.body.len() >= REQUEST, "the request has {} bytes", sent.body.len());
        let bare = async || by_http_alone(&http, &server, &sent).await;
        bare().await?;
        let (mut differences, mut alone) = (Vec::new(), Vec::new());
        for _ in 0..arguments.rounds {
            let (with_us, without) = (each(arguments.calls, &ours).await?, each(arguments.calls, &bare).await?);
            differences.push(with_us - without);
            alone.push(without);
        }
        let [least, median, most] = spread(differences);
        let [_, http, _] = spread(alone);
        // The calculation of signatures is none of a dialect's.
        let aim = if self.others.len() > 1 { None } else { Some(AIM) };
        let verdict = aim.map_or("", |aim| if median <= aim { "met" } else { "missed" });
        let aim = aim.map_or_else(String::new, |aim| format!("≤ {aim}"));
        let (title, request) = (self.title, sent.body.len());
        Ok(format!(
            "| {title} | {request} B | {bytes} B | {median:.0} | {least:.0} | {most:.0} | {aim} | {verdict} | {http:.0} |"
        ))
    }

    fn llm(&self, server: &Server) -> anyhow::Result<Llm> {
        let mut settings = Settings::default();
        let provider = self.model.split(':').next().unwrap_or_default();
        let row = settings.providers.iter().find(|row| row.name == provider);
        let row = row.ok_or_else(|| anyhow::anyhow!("{} is of no provider", self.model))?;
        let is_signed = self.others.len() > 1;
        let endpoint = Endpoint {
            base_url: Some(server.base_url().parse()?),
            api_key: (!is_signed).then(|| "key".into()),
            others: self.others.iter().map(|(name, value)| (*name, (*value).into())).collect::<BTreeMap<_, _>>(),
            ..Endpoint::default()
        };
        settings.endpoints.insert(row.name, endpoint);
        Ok(Llm::new(settings)?)
    }
}

/// Least, median and most.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    [at(0), at(values.len() / 2), at(values.len().saturating_sub(1))]
}

/// Microseconds of this thread that a call takes.
async fn each(calls: u32, call: &impl AsyncFn() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let begun = processor_time();
    for _ in 0..calls {
        call().await?;
    }
    Ok((processor_time() - begun).as_secs_f64() * 1e6 / f64::from(calls))
}

/// Of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

async fn by_our_layer(llm: &Llm, request: &Request) -> anyhow::Result<()> {
    let mut stream = llm.stream(request, &|_: Wait| {}).await?;
    while let Some(delta) = stream.next().await {
        if let Delta::End(completion) = delta.map_err(|broken_off| broken_off.error)? {
            anyhow::ensure!(completion.text == answers::text(), "{completion:?}");
            return Ok(());
        }
    }
    anyhow::bail!("the stream has no end")
}

async fn by_http_alone(client: &reqwest::Client, server: &Server, sent: &Sent) -> anyhow::Result<()> {
    let url = format!("{}{}", server.origin(), sent.path);
    let request = client.post(url).headers(sent.headers.clone()).body(sent.body.clone());
    let mut answer = request.send().await?.error_for_status()?;
    while answer.chunk().await?.is_some() {}
    Ok(())
}

/// A researcher's turn: instructions, a topic, two searches with their results, and the tools.
fn request(model: &str) -> anyhow::Result<Request> {
    let prose = |bytes: usize| "The harbour board let the repair, and paid it from the dues. ".repeat(bytes / 61 + 1);
    let mut messages = vec![Message::system(prose(3_000)), Message::user(prose(1_000))];
    for turn in 0..2 {
        let (id, name) = (format!("call_{turn}"), "search_web".to_owned());
        let arguments = json!({"queries": ["harbour dues", "tide gate repair"]}).to_string();
        let call = ToolCall { id: id.clone(), name: name.clone(), arguments, problem: None };
        messages.push(Message::Assistant { content: String::new(), tool_calls: vec![call], carry: None });
        messages.push(Message::Tool { call_id: id, name, content: prose(5_600).into() });
    }
    let tool = |name: &str| {
        let queries = json!({"type": "array", "items": {"type": "string"}, "description": "What to look for."});
        let parameters = json!({"type": "object", "properties": {"queries": queries}, "required": ["queries"]});
        ToolSpec { name: name.to_owned(), description: prose(300), parameters: parameters.into(), dispensable: false }
    };
    Ok(Request {
        model: model.parse().map_err(|_| anyhow::anyhow!("{model} is no model"))?,
        messages,
        tools: ["search_web", "read_page", "think"].map(tool).into(),
        tool_choice: ToolChoice::Auto,
        output: OutputFormat::Text,
        max_tokens: 8_192,
        sending: Sending::default(),
    })
}
