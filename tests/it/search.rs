//! The search room from outside: a folder of documents on disk, and Tavily faked at the wire.

mod engines;
pub mod local;
mod native;
mod seam;
mod tavily;
