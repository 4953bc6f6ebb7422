//! Fathom: Open Deep Research as one service.
//!
//! The code map in words; ARCHITECTURE.md draws it. Arrows point downwards only, and a test holds them.

// The words every room may use.
pub mod domain;
// From the door to the wire.
pub mod app;
pub mod auth;
pub mod cli;
pub mod context;
pub mod http;
pub mod llm;
pub mod mcp;
pub mod net;
pub mod offline;
pub mod pages;
pub mod research;
pub mod runs;
pub mod search;
pub mod text;
pub mod tools;
pub mod webhooks;
// At the side.
mod aside;
pub mod config;
pub mod eval;
pub mod events;
pub mod files;
pub mod journal;
mod process;
pub mod prompts;
pub mod store;
pub mod telemetry;
