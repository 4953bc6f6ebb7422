//! The search room from outside: a folder of documents on disk, and Tavily faked at the wire.

mod engines;
mod local;
mod seam;
mod tavily;
