//! JSON from outside: answers of a search engine, and calls that models write into their text.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    fathom::search::engines::tavily::fuzzing::answer(text.as_bytes());
    fathom::llm::fuzzing::calls(text);
});
