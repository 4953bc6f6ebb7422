//! Measures reports against questions whose answers are known: what a report says, where a fact was lost on the way,
//! and whether two versions of the program differ by more than chance.
//!
//! What `score.rs` says is decided by code, the same each time; what `judges/` says is a model's opinion, and kept
//! apart. The command line makes the runs (`cli/eval`) and hands over what they brought; this room knows no runs.
//! docs/evaluation.md explains the figures.

mod judged;
mod judges;
mod matching;
mod questions;
mod results;
mod score;
mod structure;
mod summary;

pub use judged::{Dimension, Groundedness, Judge, Judged, JudgedClaim, Opinion};
pub use judges::{Case, Judges, RunRecord};
pub use questions::{Fact, Question, read as read_questions};
pub use results::{Header, Results, benchmark_line};
pub use score::{Answer, Lost, Scored, Spent, score};
pub use summary::{compare, table};
