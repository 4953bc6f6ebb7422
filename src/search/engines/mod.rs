//! The engines there are: a file (or folder) each, and a line in the table. Nothing else in the crate names one.

pub mod local;
pub mod tavily;

use super::Row;

/// In the order in which `auto` prefers them.
pub const ROWS: &[&Row] = &[&tavily::ROW, &local::ROW];
