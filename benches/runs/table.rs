//! The table people read.

use crate::Line;

pub fn print(line: &Line, with_head: bool) {
    if with_head {
        println!(
            "scenario database  at once  runs  failed  median ms     max ms  chain ms  ratio  1st event  CPU/run  start ms  idle MB  peak MB  (fakes: excess/call  CPU/run)"
        );
    }
    println!(
        "{:<8} {:<8} {:>8} {:>5} {:>7} {:>10.1} {:>10.1} {:>9} {:>6.3} {:>7.1} ms {:>5.1} ms {:>9.0} {:>8.1} {:>8.1}  ({:>15.2} ms {:>5.1} ms)",
        line.scenario,
        line.database,
        line.at_once,
        line.runs,
        line.failed,
        line.median_ms,
        line.max_ms,
        line.chain_ms,
        line.ratio,
        line.first_event_ms,
        line.cpu_per_run_ms,
        line.start_ms,
        line.idle_mb,
        line.peak_mb,
        line.fake_excess_ms,
        line.fake_cpu_per_run_ms,
    );
    if line.scenario == "one" {
        println!(
            "         a run: {:.0} model calls, {:.0} searches, {} prompt tokens",
            line.model_calls_per_run, line.searches_per_run, line.prompt_tokens_per_run
        );
    }
    for failure in &line.failures {
        println!("         failed: {failure}");
    }
}

/// The highest ratio to the chain and the most CPU per run, ours and the database server's, that a line may have.
struct Aims {
    ratio: f64,
    cpu_ms: Option<f64>,
    database_cpu_ms: Option<f64>,
    first_event_ms: Option<f64>,
    peak_mb: Option<f64>,
}

fn aims(line: &Line) -> Aims {
    let is_sqlite = line.database == "sqlite";
    let none = Aims { ratio: 1.06, cpu_ms: None, database_cpu_ms: None, first_event_ms: None, peak_mb: None };
    match (line.scenario, line.at_once) {
        ("one", _) => Aims { cpu_ms: is_sqlite.then_some(25.0), ..none },
        ("ten", _) => Aims {
            ratio: 1.15,
            cpu_ms: Some(if is_sqlite { 20.0 } else { 18.0 }),
            database_cpu_ms: (!is_sqlite).then_some(15.0),
            first_event_ms: Some(5.0),
            ..none
        },
        (_, 50) => Aims { ratio: 1.02, ..none },
        _ => Aims { ratio: 1.05, first_event_ms: Some(30.0), peak_mb: Some(250.0), ..none },
    }
}

pub fn print_aims_head() {
    println!(
        "| runs at once | database | failed | ratio to the chain | CPU per run | database server's | 1st event | peak RSS |\n\
         |---|---|---|---|---|---|---|---|"
    );
}

/// A line with its aims in parentheses.
pub fn print_aims(line: &Line) {
    let aims = aims(line);
    let with = |text: String, aim: Option<f64>| aim.map_or(text.clone(), |aim| format!("{text} (≤ {aim})"));
    println!(
        "| {} | {} | {} of {} | {:.3} (≤ {}) | {} | {} | {} | {} |",
        line.at_once,
        line.database,
        line.failed,
        line.runs,
        line.ratio,
        aims.ratio,
        with(format!("{:.1} ms", line.cpu_per_run_ms), aims.cpu_ms),
        line.database_cpu_per_run_ms.map_or("–".to_owned(), |cpu| with(format!("{cpu:.1} ms"), aims.database_cpu_ms)),
        with(format!("{:.1} ms", line.first_event_ms), aims.first_event_ms),
        with(format!("{:.0} MB", line.peak_mb), aims.peak_mb),
    );
}
