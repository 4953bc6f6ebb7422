//! The wire, nothing else: parse, call a handle, answer.

pub mod docs;
