//! `fathom config`: the settings as they count, and who said each; secrets are masked.

use serde_json::{Value, json};

use super::{Exit, print};
use crate::config::{Config, Effective};

/// Prints every setting, a line each, or all as one JSON object.
pub fn run(config: &Config, as_json: bool) -> Exit {
    match as_json {
        true => print::json(&json!({
            "file": config.file,
            "settings": config.effective,
            "usable": config.usable(),
        })),
        false => print::answer(&text(config)),
    }
}

fn text(config: &Config) -> String {
    let mut lines = vec![match &config.file {
        Some(path) => format!("# Settings file: {}", path.display()),
        None => "# No settings file".to_owned(),
    }];
    lines.extend(config.effective.iter().map(line));
    lines.push(format!("# Usable: {}", config.usable_names()));
    lines.extend(config.not_usable().map(|missing| format!("# Not usable: {missing}")));
    lines.join("\n")
}

fn line(setting: &Effective) -> String {
    let value = match &setting.value {
        Value::Null => "(not set)".to_owned(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    format!("{} = {value}  # {}", setting.key, setting.source)
}
