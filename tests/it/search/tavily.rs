//! Tavily, faked at the wire.
