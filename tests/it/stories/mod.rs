//! Stories of whole runs over the scripted world, each named after what has to hold, or after the bad input it
//! meets. [`engine`] carries them out; every run is held to [`check`]'s general rules.

pub mod check;
pub mod engine;
mod engines;

mod bad_input;
pub mod binary;
mod citations;
mod claims;
mod deadline;
mod dialects;
mod documents;
mod evidence;
mod fallback;
mod follow_up;
mod governed;
mod language;
mod limits;
mod mcp;
mod mcp_addresses;
mod native;
mod outages;
mod pages;
mod questions;
mod report;
mod researcher;
mod retry;
mod search;
mod sequences;
mod settings;
mod sizes;
mod spending;
mod statements;
mod structured;
mod supervisor;
mod telemetry;
mod terminal;
mod tools;
mod waiting;
mod whole;
