//! Fathom: Open Deep Research as one service.
pub mod domain;
pub mod events;
pub mod llm;
pub mod net;
pub mod search;
pub mod store;
