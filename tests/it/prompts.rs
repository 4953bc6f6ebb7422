//! Every prompt, rendered with sample values and compared with a snapshot.

use std::{fs, path::Path};

use fathom::{domain::SourceId, prompts::Prompts};
use serde_json::{Value, json};

/// The templates below `prompts/`: name and text.
fn templates() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
    let mut found = Vec::new();
    for folder in [root.clone(), root.join("judges"), root.join("tools")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.strip_prefix(&root).unwrap().with_extension("").display().to_string();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The lines of a template's header that begin with `field`, up to the next field.
fn header<'a>(template: &'a str, field: &str) -> &'a str {
    let header = template.split("#}").next().unwrap();
    let rest = header.split(&format!("\n{field}: ")).nth(1).unwrap_or_default();
    rest.split("\n(").next().unwrap_or_default()
}

/// The header of a template says to whom it goes and which variables it has.
#[test]
fn every_template_says_what_it_is_for() {
    for (name, template) in templates() {
        assert!(template.starts_with("{#-\nto: "), "{name} has no header");
        assert!(!header(&template, "vars").trim().is_empty(), "{name} does not say its variables");
        assert!(!template.contains("http://") && !template.contains("https://"), "{name} has an address");
    }
}

/// A model that copies an example must not cite the first source of every run.
#[test]
fn ids_in_examples_are_never_given_out() {
    for (name, template) in templates() {
        let words = template.split(|c: char| !c.is_ascii_alphanumeric());
        let ids = words.filter_map(|word| word.strip_prefix('S')?.parse().ok()).map(SourceId);
        for id in ids {
            assert_eq!(id.researcher(), 0, "{name} has {id} in an example");
        }
    }
}

/// Values as the code gives them.
fn samples(name: &str) -> Vec<Value> {
    let tools = json!([
        {"name": "search_web", "description": "Search the web and get the content of the best pages."},
        {"name": "think_tool", "description": "Write down a reflection."},
    ]);
    let schema = json!({"type": "object", "required": ["summary"]}).to_string();
    let date = "Mon Mar 10, 2031";
    let messages = "Human: What pays for the gate?\nAI: Which gate?\nHuman: The northern one.";
    let one = match name {
        "bad_arguments" => json!({"name": "search_web", "error": "missing field `queries`"}),
        "answer" | "follow_up" | "revise" => {
            return vec![json!({
                "date": date, "messages": "Human: What pays for the gate?\nAI: (the report below)",
                "report": "# The gate\n\nDues pay for it [S1001].",
                "findings": [{"topic": "Dues.", "text": "- Four crowns [S1001]"}],
                "sources": [
                    {"id": "S1001", "number": 1, "title": "Dues", "published": "2031-03-01"},
                    {"id": "S2001", "number": null, "title": "Loan", "published": null},
                ],
                "message": "How much is it?",
            })];
        }
        "brief" => {
            let sample = |follow_up| json!({"date": date, "messages": messages, "follow_up": follow_up});
            return vec![sample(false), sample(true)];
        }
        "clarify" => json!({"date": date, "messages": messages}),
        "compress_request" => {
            let sources = json!(["S1001", "S1002"]);
            return vec![
                json!({"topic": "The gate.", "sources": sources}),
                json!({"topic": "The gate.", "sources": []}),
            ];
        }
        "claims" | "repair" => {
            let passages = json!([{"id": "S1001", "text": "Dues of four crowns pay for it."}]);
            let statement = |number, passages| {
                json!({
                    "number": number, "text": "Dues are five crowns [S1001].", "missing": ["five"],
                    "passages": passages,
                })
            };
            json!({"statements": [statement(1, passages), statement(2, json!([]))]})
        }
        "judges/correctness" => {
            let sample = |facts: &[&str], outdated: &[&str], unanswerable| {
                json!({
                    "question": "What pays for the gate?", "report": "# The gate\n\nDues pay for it. [1]",
                    "facts": facts, "outdated": outdated, "unanswerable": unanswerable,
                })
            };
            return vec![
                sample(&["Dues", "four crowns / 4 crowns"], &["three crowns"], false),
                sample(&["Dues"], &[], false),
                sample(&[], &[], true),
            ];
        }
        "judges/groundedness" => {
            let statement = |number, section, passages| json!({"number": number, "section": section, "text": "Dues are five crowns", "passages": passages});
            let passages = json!([{"id": "S1001", "text": "Dues of four crowns pay for it."}]);
            json!({"statements": [statement(1, "Costs", passages), statement(2, "", json!([]))]})
        }
        _ if name.starts_with("judges/") => json!({
            "question": "What pays for the gate?", "brief": "Who pays for the northern gate?",
            "report": "# The gate\n\nDues pay for it. [1]",
        }),
        "translate" => json!({"language": "German", "report": "# Gate\n\nDues of four crowns pay for it [S1001]."}),
        "compress_system" => json!({"date": date}),
        "native_search" => json!({}),
        "not_held" => json!({"missing": ["5 crowns", "May"]}),
        "no_results" => json!({"queries": ["gate", "dues"]}),
        "queries_left_out" => json!({"queries": ["gate", "dues"], "limit": 18}),
        "repeated_call" => json!({"name": "search_web"}),
        "report" => {
            let whole = json!({
                "date": date, "brief": "What pays for the northern gate?", "messages": messages,
                "questions": [
                    {"text": "Who pays dues?", "status": "answered"}, {"text": "Who lends?", "status": "not_found"},
                ],
                "words": {"least": 1000, "most": 2500},
                "is_marked": true,
                "cards": "(cards)",
                "findings": [{"topic": "Dues.", "text": "- Four crowns [S1001]"}, {"topic": "Loan.", "text": "- None [S2001]"}],
                "earlier": [],
                "sources": [
                    {"id": "S1001", "title": "Dues", "published": "2031-03-01"},
                    {"id": "S2001", "title": "Loan", "published": null},
                ],
                "limits": ["Nothing could be found out about this topic: Luck."],
            });
            let mut plain = whole.clone();
            plain["limits"] = json!([]);
            plain["questions"] = json!([]);
            plain["cards"] = json!(null);
            plain["is_marked"] = json!(false);
            let mut again = plain.clone();
            again["earlier"] = json!([{"topic": "Tolls.", "text": "- One crown [S1002]"}]);
            return vec![whole, plain, again];
        }
        "nudge_silent" => return [false, true].map(|is_cut| json!({"is_cut": is_cut})).to_vec(),
        "research_failed" => {
            let sample = |code, reason| json!({"topic": "The gate.", "code": code, "reason": reason});
            return vec![
                sample("search_unavailable", "no search brought anything: 'gate': status 500"),
                sample("no_evidence", "nothing was found about: The gate"),
                sample("timeout", "the researcher's time is over"),
                sample("spending_limit", "the run has spent what it may: max_searches is 9"),
            ];
        }
        "researcher" => {
            let plain = json!({
                "date": date, "tools": tools, "max_react_tool_calls": 10, "mcp_prompt": null, "searches": 5, "sources": 3,
            });
            let mut more = plain.clone();
            more["mcp_prompt"] = json!("Ask the archive first.");
            return vec![plain, more];
        }
        "rounds_left" | "turns_left" => {
            let mut plain = [0, 1, 2].map(|left| json!({"left": left, "used": 49, "questions": []})).to_vec();
            plain.push(json!({"left": 2, "used": 64, "questions": [{"number": 1, "status": "answered"}, {"number": 2, "status": "not_found"}]}));
            return plain;
        }
        "page" => {
            let passages = json!([
                {"number": 2, "heading": "Dues", "text": "Dues pay the gate."}, {"number": 3, "heading": null, "text": "So it is."},
            ]);
            let page = |published: Value, missing: Value, next: Value| {
                json!({
                    "tool": "read_page", "id": "S1001", "title": "Dues", "location": "harbour.test", "author": null,
                    "published": published,
                    "missing": missing, "passages": passages, "total": 9, "next": next,
                    "links": if next.is_null() { json!([]) } else { json!([{"text": "Loans", "address": "https://harbour.test/loans"}]) },
                })
            };
            let whole = page(json!("2031-03-01"), json!("only its first part is searched"), json!(4));
            return vec![whole, page(json!(null), json!(null), json!(null))];
        }
        "mcp_result" => {
            let sources = json!([
                {"id": "S1001", "title": "Register of dues", "location": "register.test", "text": "Four crowns."},
                {"id": "S1002", "title": "tell of register (text: x)", "location": "mcp:register/tell#0", "text": "So."},
            ]);
            return vec![
                json!({"sources": sources, "left_out": ["an image of 300 bytes (image/png) was left out"]}),
                json!({"sources": [], "left_out": []}),
            ];
        }
        "tools/read_resource" => json!({"resources": [
            {"server": "register", "uri": "register://minutes/1931", "name": "Minutes of 1931"},
        ], "more": 12}),
        "tool_failed" => json!({"name": "read_page", "error": "the page is not there"}),
        "cards" => {
            let card = |id, statement, date| {
                let missing = if id == "S2001" { json!(["May"]) } else { json!([]) };
                json!({
                    "id": id, "statement": statement, "quotation": "The dues: 4 crowns.", "missing": missing,
                    "host": "harbour.test", "date": date,
                })
            };
            let dues = "Dues are four crowns.";
            let pair = json!({
                "one": dues, "one_id": "S1001", "other": "Dues are five crowns.", "other_id": "S2001",
            });
            return vec![
                json!({"cards": [card("S1001", dues, json!("2031-03-01")), card("S2001", "", json!(null))], "differing": [pair]}),
                json!({"cards": [card("S1001", dues, json!(null))], "differing": []}),
            ];
        }
        "search_results" => {
            let result = |id, published, excerpts| {
                json!({
                    "id": id, "is_known": false, "title": "Dues", "location": "harbour.test", "published": published,
                    "summary": "Four crowns.", "excerpts": excerpts,
                })
            };
            let results = json!([
                result("S1001", json!("2031-03-01"), json!(["Four."])),
                result("S1002", json!(null), json!([])),
                json!({"id": "S1003", "title": "Gate", "is_known": true, "is_long": false}),
                json!({"id": "S1004", "title": "Chronicle", "is_known": true, "is_long": true}),
            ]);
            let failures = json!([{"query": "gate", "reason": "status 500"}]);
            return vec![
                json!({"results": results, "failures": []}),
                json!({"results": results, "failures": failures}),
                json!({"results": [], "failures": failures}),
            ];
        }
        "statements" => {
            let statement = |section: Value, text: &str, remark: &str| json!({"section": section, "text": text, "ids": "[S1001][S1002]", "remark": remark});
            let (dues, toll) = ("Dues are four crowns.", "The toll is one crown.");
            return vec![
                json!({"statements": [statement(json!("Dues"), dues, " (remark)"), statement(json!(null), toll, "")]}),
                json!({"statements": [statement(json!(null), dues, ""), statement(json!("Tolls"), toll, "")]}),
            ];
        }
        "structured_prompt" => json!({"schema": schema}),
        "structured_repair" => json!({"schema": schema, "error": "there is no JSON object in the answer"}),
        "summary" => {
            json!({"date": date, "question": "What pays for it?", "title": "Dues", "webpage_content": "Four crowns."})
        }
        "supervisor" => {
            let sample = |effort: &str, questions| {
                json!({
                    "date": date, "tools": tools, "max_concurrent_research_units": 5, "max_researcher_iterations": 6,
                    "require_think": effort == "deep", "effort": effort, "questions": questions,
                })
            };
            return vec![
                sample("standard", json!(["Who pays?"])),
                sample("quick", json!(["Who pays?", "Who lends?"])),
                sample("deep", json!(["Who pays?"])),
            ];
        }
        "too_many_delegations" => json!({"limit": 64}),
        "tools/search_web" => {
            let values = |kind, has_documents| json!({"kind": kind, "has_documents": has_documents, "max_results": 5});
            return vec![values("web", false), values("documents", true), values("web", true)];
        }
        "unknown_tool" => json!({"name": "browse", "tools": ["search_web", "think_tool"]}),
        _ => json!(null),
    };
    vec![one]
}

/// What we say to models, word for word: a change of a prompt shows as a change of its snapshot.
#[test]
fn every_prompt_renders() {
    let prompts = Prompts::new().unwrap();
    for (name, _) in templates() {
        let rendered: Vec<_> = samples(&name).into_iter().map(|values| prompts.text(&name, values)).collect();
        let rendered = rendered.join("\n\n=====\n\n");
        let is_known = !rendered.is_empty() && !rendered.contains("is broken)");
        assert!(is_known, "{name} has no line in `templates!` (src/prompts.rs), or wants other `samples`: {rendered}");
        assert!(!rendered.contains("{{") && !rendered.contains("{%") && !rendered.contains("{#"), "{name}");
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("prompt_{}", name.replace('/', "_")), rendered);
        });
    }
}
