//! Measures reports against questions whose answers are known: what a report says, where a fact was lost on the way,
//! and whether two versions of the program differ by more than chance.
//!
//! Everything here is decided by code, the same each time. The command line makes the runs (`cli/eval.rs`) and hands
//! over what they brought; this room knows neither runs nor models. docs/evaluation.md explains the figures.

mod matching;
mod questions;
mod results;
mod score;
mod structure;
mod summary;

pub use questions::{Fact, Question, read as read_questions};
pub use results::{Header, Results, benchmark_line};
pub use score::{Answer, Lost, Scored, Spent, score};
pub use summary::{compare, table};
