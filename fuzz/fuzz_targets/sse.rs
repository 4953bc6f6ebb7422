//! The stream of a model server: each line after `data:` is a chunk.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fathom::llm::fuzzing::stream(text));
