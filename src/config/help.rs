//! The help of flags and options, from the tables that hold them.

use super::{
    kind::Kind,
    settings::{self, Fallback},
};
use crate::{domain::options::OptionKind, search::ROWS};

/// Returns the help of a flag: what the setting is for, its variable and its default.
pub fn flag_help(key: &str) -> String {
    let Some(setting) = settings::find(key) else { return String::new() };
    let variable = format!(" [env: {}]", setting.variable);
    let default = match setting.default {
        Fallback::Value(text) if setting.kind.expected() != Kind::Boolean.expected() => format!(" [default: {text}]"),
        _ => String::new(),
    };
    format!("{}{variable}{default}", capital(setting.meaning))
}

/// Returns what a research option accepts, in a few words.
pub fn option_values(kind: OptionKind) -> String {
    match kind {
        OptionKind::Boolean => "true or false".to_owned(),
        OptionKind::Integer { min, max } => format!("{min} to {max}"),
        OptionKind::OptionalInteger { min, max } => format!("null, or {min} to {max}"),
        OptionKind::OptionalDollars { max } => format!("null, or dollars up to {max}"),
        OptionKind::Choice(names) => names.join(", "),
        OptionKind::OptionalChoice(names) => format!("null, {}", names.join(", ")),
        OptionKind::OptionalDomains => "null, or names of sites".to_owned(),
        OptionKind::Collections => "ids of collections".to_owned(),
        OptionKind::OptionalLanguage | OptionKind::OptionalCountry => "null, or two letters".to_owned(),
        OptionKind::TimeZone => "an IANA name".to_owned(),
        OptionKind::McpServers => "all, none, or names".to_owned(),
        OptionKind::McpConfig => "null, or url and tools".to_owned(),
        OptionKind::OptionalText { .. } => "null, or a text".to_owned(),
        OptionKind::Model => "provider:model".to_owned(),
        OptionKind::Engines => {
            format!("auto, none, {}", ROWS.iter().map(|row| row.name).collect::<Vec<_>>().join(", "))
        }
        OptionKind::Fallback => "none, or names as of search_api".to_owned(),
    }
}

pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_of_a_flag_is_its_row() {
        let expected = "Where the service listens [env: FATHOM_LISTEN] [default: 127.0.0.1:8080]";
        assert_eq!(flag_help("listen"), expected);
        assert!(flag_help("docs").ends_with("[env: FATHOM_DOCS]"));
        assert_eq!(flag_help("no.such"), "");
    }
}
