//! Readers of this room for the fuzz targets (docs/fuzzing.md); not part of any other build.

use super::{
    Message, OutputFormat, Request, Sending, ToolChoice, assembly::Assembly, providers::Quirks, text_calls, wire::Wire,
};
use crate::domain::ModelName;

/// Reads a stream of events, each chunk after `data:` on a line of its own.
pub fn stream(text: &str) {
    let request = Request {
        model: ModelName::offline(),
        messages: vec![Message::user("a question")],
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        output: OutputFormat::Text,
        max_tokens: 1_000,
        sending: Sending::default(),
    };
    for wire in Wire::ALL {
        let (mut assembly, mut reader) = (Assembly::new(&request), wire.reader(&Quirks::NONE));
        let mut events = text.lines().filter_map(|line| line.strip_prefix("data:"));
        if events.all(|event| reader.event(event.trim(), &mut assembly).is_ok()) {
            let _ = assembly.finish_stream();
        }
    }
}

/// Takes the calls out of a text.
pub fn calls(text: &str) {
    let mut rest = text.to_owned();
    text_calls::take(&mut rest, |name| name == "search_web");
}
