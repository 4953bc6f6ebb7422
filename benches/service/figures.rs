//! What was measured, over all rounds, and the table people read.

/// The figures of a mode on a database, in the order they were first taken.
#[derive(Default)]
pub struct Figures(Vec<Figure>);

struct Figure {
    what: String,
    unit: &'static str,
    aim: Aim,
    rounds: Vec<f64>,
}

/// What we want a figure to be.
#[derive(Clone, Copy)]
pub enum Aim {
    None,
    AtMost(f64),
    AtLeast(f64),
}

impl Figures {
    /// Adds a round's value.
    pub fn add(&mut self, what: &str, unit: &'static str, aim: Aim, value: f64) {
        match self.0.iter_mut().find(|figure| figure.what == what) {
            Some(figure) => figure.rounds.push(value),
            None => self.0.push(Figure { what: what.to_owned(), unit, aim, rounds: vec![value] }),
        }
    }

    /// Adds the median and the 99th percentile of the values as two figures.
    pub fn add_spread(&mut self, what: &str, unit: &'static str, aims: [Aim; 2], values: Vec<f64>) {
        let values = sorted(values);
        self.add(&format!("{what}, p50"), unit, aims[0], percentile(&values, 50.0));
        self.add(&format!("{what}, p99"), unit, aims[1], percentile(&values, 99.0));
    }

    pub fn print(&self, mode: &str, database: &str) {
        for Figure { what, unit, aim, rounds } in &self.0 {
            let rounds = sorted(rounds.clone());
            let median = percentile(&rounds, 50.0);
            let ends = [rounds.first(), rounds.last()].map(|end| end.copied().unwrap_or(f64::NAN));
            let (best, aim, met) = match aim {
                Aim::None => (ends[0], String::new(), ""),
                Aim::AtMost(most) => (ends[0], format!("≤ {most}"), verdict(median <= *most, ends[0] <= *most)),
                Aim::AtLeast(least) => (ends[1], format!("≥ {least}"), verdict(median >= *least, ends[1] >= *least)),
            };
            let (best, median) = (shown(best), shown(median));
            println!("| {mode} | {database} | {what} | {best} {unit} | {median} {unit} | {aim} | {met} |");
        }
    }
}

fn verdict(median: bool, best: bool) -> &'static str {
    match (median, best) {
        (true, _) => "met",
        (false, true) => "met at best",
        (false, false) => "missed",
    }
}

fn shown(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

pub fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Of sorted values; the nearest rank.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}
