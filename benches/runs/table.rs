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
