//! Fathom: Open Deep Research as one service.
//!
//! ARCHITECTURE.md says what each room is for. `tests/it/tidy.rs` holds which room may use which.

pub mod app;
mod aside;
pub mod auth;
pub mod cli;
pub mod config;
pub mod context;
pub mod domain;
pub mod eval;
pub mod events;
pub mod files;
pub mod http;
pub mod journal;
pub mod llm;
pub mod mcp;
pub mod net;
pub mod offline;
pub mod pages;
mod process;
pub mod prompts;
pub mod research;
pub mod runs;
pub mod search;
pub mod store;
pub mod telemetry;
pub mod text;
pub mod tools;
pub mod webhooks;
