//! `fathom research --estimate`: what a run is expected to take, as a table; nothing is started.

use crate::domain::{
    Cost, Estimate,
    estimate::{Basis, Binding, Grounds, Level, Range},
};

/// Returns the table, and what it rests on.
pub fn table(estimate: &Estimate) -> String {
    let count = |name: &str, of: &Range<u64>| row(name, [of.low, of.expected, of.high].map(|n| n.to_string()));
    let Range { low, expected, high } = estimate.minutes;
    let mut lines = vec![
        row("", ["low", "expected", "high"].map(str::to_owned)),
        count("model calls", &estimate.model_calls),
        count("researchers", &estimate.researchers),
        count("searches", &estimate.searches),
        count("pages", &estimate.pages),
        count("prompt tokens", &estimate.input_tokens),
        count("output tokens", &estimate.output_tokens),
        row("minutes", [low, expected, high].map(|minutes| format!("{minutes:.1}"))),
        cost(estimate),
        basis(&estimate.basis),
    ];
    lines.extend(estimate.limited_by.as_ref().map(binding));
    lines.join("\n")
}

fn row(name: &str, [low, expected, high]: [String; 3]) -> String {
    format!("{name:<13} {low:>11} {expected:>11} {high:>11}")
}

fn cost(estimate: &Estimate) -> String {
    match &estimate.cost_usd {
        None => "cost: a price is not known".to_owned(),
        Some(cost) if cost.high == Cost::default() && estimate.model_calls.high > 0 => "cost: nothing".to_owned(),
        Some(cost) => row("cost", [cost.low, cost.expected, cost.high].map(dollars)),
    }
}

fn dollars(cost: Cost) -> String {
    format!("${:.2}", cost.dollars())
}

fn basis(basis: &Basis) -> String {
    match basis.from {
        Grounds::Runs => format!("from {} finished runs like this", basis.runs),
        Grounds::Preset => {
            let effort = basis.effort.as_str();
            format!(
                "from the preset {effort}: there are too few finished runs like this; minutes and output tokens of hosted \
                 models are assumed"
            )
        }
    }
}

fn binding(binding: &Binding) -> String {
    let size = match binding.at {
        Level::Low => "any run like this",
        Level::Expected => "the expected run",
        Level::High => "a large run",
    };
    format!("{} ends {size} early, with a report of what is there by then", binding.option)
}
