//! A brain that plays every role of a run: always the same answer to the same prompt, citing what the prompt shows.

use serde_json::{Value, json};

use super::{Call, Kind, Reply, prose, reply};

/// How much work a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Turns the supervisor thinks before it delegates.
    pub reflections: usize,
    /// Delegations of the supervisor's one round of research.
    pub researchers: usize,
    /// Search turns of each researcher, before it thinks once and completes.
    pub searches: usize,
    /// Queries of each search.
    pub queries: usize,
    /// Sentences of the report at most, each with its citation.
    pub sentences: usize,
}

impl Default for Shape {
    /// Returns the benchmark's run: three researchers of four turns (search, search, think, complete), two queries a
    /// search.
    fn default() -> Self {
        Self { reflections: 0, researchers: 3, searches: 2, queries: 2, sentences: 40 }
    }
}

impl Shape {
    /// One researcher, one search, one query.
    pub const SMALL: Self = Self { reflections: 0, researchers: 1, searches: 1, queries: 1, sentences: 8 };

    /// Returns the number of model calls of a run of this shape that clarifies, when each query brings `pages` new
    /// pages with full text.
    pub fn model_calls(self, pages: usize) -> usize {
        let turns = self.searches + 2;
        let summaries = self.searches * self.queries * pages;
        2 + self.reflections + 2 + self.researchers * (turns + summaries + 1) + 1
    }

    /// Returns the model calls and the searches of its longest chain, each waiting for the one before: what
    /// researchers, queries and pages cost side by side counts once.
    pub fn chain(self) -> (u32, u32) {
        let research = self.searches * 2 + 2 + 1;
        ((2 + self.reflections + 2 + research + 1) as u32, self.searches as u32)
    }
}

/// Opens each line of compressed findings, so that the report knows findings from examples in the prompt.
const FINDING: &str = "- Established: ";

const ASPECTS: [&str; 8] =
    ["origins", "present state", "costs", "critics", "alternatives", "measurements", "rules", "outlook"];

/// Returns the answer of the role that the call is for.
pub fn reply(shape: Shape, call: &Call) -> Reply {
    match call.kind {
        Kind::FollowUp => reply::follow_up("research"),
        Kind::Clarify => reply::json(json!({
            "need_clarification": false, "question": "",
            "verification": "The question is clear; research starts now.",
        })),
        Kind::Brief => reply::brief(&brief(call)),
        Kind::Supervisor => supervise(shape, call),
        Kind::Researcher => research(shape, call),
        Kind::Summary => reply::json(summarise(call)),
        Kind::Compression => reply::text(compress(call)),
        Kind::Report | Kind::Answer | Kind::Revision => reply::text(report(shape, call)),
        Kind::Repair => reply::json(json!({"statements": []})),
        Kind::Judgement => reply::json(json!({"verdicts": []})),
        Kind::Other => reply::text("Understood."),
    }
}

fn brief(call: &Call) -> String {
    let prompt = call.last_text();
    let question = prompt
        .lines()
        .rev()
        .find_map(|line| line.trim_start().strip_prefix("Human: ").or_else(|| line.trim_start().strip_prefix("User: ")))
        .unwrap_or("the user's question");
    format!("Find out, with sources: {question} (brief {:08x})", prose::seed(&prompt) as u32)
}

fn supervise(shape: Shape, call: &Call) -> Reply {
    if call.turns() < shape.reflections {
        return reply::think("The brief falls into parts that can be researched side by side.");
    } else if call.turns() > shape.reflections {
        return reply::complete_research();
    }
    let brief = call.first_text();
    let brief = clip(&brief, 300);
    reply::calls((0..shape.researchers).map(|n| {
        let aspect = ASPECTS[n % ASPECTS.len()];
        let topic = format!("Part {} of {}, the {aspect}, of this brief: {brief}", n + 1, shape.researchers);
        ("ConductResearch", json!({ "research_topic": topic }))
    }))
}

fn research(shape: Shape, call: &Call) -> Reply {
    let turn = call.turns();
    if turn == shape.searches {
        return reply::think("The searches agree in the main; nothing decisive is missing.");
    } else if turn > shape.searches {
        return reply::complete_research();
    }
    let topic = call.first_text();
    let key = prose::seed(&topic) as u32;
    let queries: Vec<String> = (0..shape.queries)
        .map(|n| {
            let aspect = ASPECTS[(turn * shape.queries + n) % ASPECTS.len()];
            format!("{aspect} {}.{} {key:08x}: {}", turn + 1, n + 1, clip(&topic, 120))
        })
        .collect();
    reply::calls([("search_web", json!({ "queries": queries }))])
}

/// Returns a summary of the page. Excerpts are the page's own words, whatever stands around the page in the prompt.
fn summarise(call: &Call) -> Value {
    let prompt = call.last_text();
    let page = match prompt.find(prose::MARK) {
        Some(at) => &prompt[at..],
        None => prompt.lines().max_by_key(|line| line.len()).unwrap_or(""),
    };
    let excerpts: Vec<&str> =
        page.split("\n\n").filter_map(first_sentence).filter(|sentence| sentence.len() > 20).take(3).collect();
    let summary = format!("The page says, among other things: {}", excerpts.join(" "));
    let as_list = call.schema()["properties"]["key_excerpts"]["type"] == "array";
    let excerpts = if as_list { json!(excerpts) } else { json!(excerpts.join("\n")) };
    json!({ "summary": summary, "key_excerpts": excerpts })
}

fn compress(call: &Call) -> String {
    let mut lines = vec!["What the searches brought:".to_owned()];
    let mut seen = Vec::new();
    for result in call.said_by("tool") {
        for (id, after) in citations(&result) {
            if seen.contains(&id) {
                continue;
            }
            let words = after.find(prose::MARK).and_then(|at| first_sentence(&after[at..]));
            lines.push(format!("{FINDING}{} [S{id}]", words.unwrap_or("The source bears on the topic.")));
            seen.push(id);
        }
    }
    lines.join("\n")
}

fn report(shape: Shape, call: &Call) -> String {
    let prompt = call.last_text();
    let mut findings: Vec<&str> =
        prompt.lines().filter_map(|line| line.trim_start().strip_prefix(FINDING)).take(shape.sentences).collect();
    let scanned: Vec<String>;
    if findings.is_empty() {
        let ids = citations(&prompt).into_iter().take(shape.sentences);
        scanned = ids.map(|(id, _)| format!("A source bears on the question. [S{id}]")).collect();
        findings = scanned.iter().map(String::as_str).collect();
    }
    let mut report = "# What the sources say\n".to_owned();
    for (n, part) in findings.chunks(8).enumerate() {
        report.push_str(&format!("\n## {}\n\n{}\n", ASPECTS[n % ASPECTS.len()], part.join("\n")));
    }
    report
}

/// Returns each `[S1003]` of `text`, with what stands between it and the next; ids below 1,000 are examples.
fn citations(text: &str) -> Vec<(u32, &str)> {
    let mut found: Vec<(u32, &str)> = Vec::new();
    for part in text.split("[S").skip(1) {
        let digits = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
        let id: Option<u32> = part[..digits].parse().ok().filter(|&id| id > 1_000);
        if let (Some(id), Some(after)) = (id, part[digits..].strip_prefix(']')) {
            found.push((id, after));
        }
    }
    found
}

/// Returns the text up to the first full stop that ends a sentence.
fn first_sentence(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find(". ").or_else(|| text.find(".\n")).map(|at| at + 1).unwrap_or(text.len());
    (!text.is_empty()).then(|| clip(&text[..end], 400))
}

/// Returns at most `bytes` of `text`, whole characters, one line.
fn clip(text: &str, bytes: usize) -> &str {
    let line = text.trim_start().lines().next().unwrap_or("");
    &line[..line.floor_char_boundary(bytes.min(line.len()))]
}
