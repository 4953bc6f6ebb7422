//! Every run option: its name, kind, range, default and meaning. Names and defaults are those of Open Deep Research's
//! current release where it has them.

use super::{
    Effort, PageReading, TimeRange, Topic,
    option_kind::{OptionKind, OptionSpec},
};

const TOKENS: OptionKind = OptionKind::Integer { min: 1, max: 1_000_000 };

/// Every option there is.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "allow_clarification",
        kind: OptionKind::Boolean,
        default: "true",
        meaning: "lets the model ask a question before it starts",
    },
    OptionSpec {
        name: "max_clarifications",
        kind: OptionKind::Integer { min: 0, max: 5 },
        default: "1",
        meaning: "clarifying questions per thread",
    },
    OptionSpec {
        name: "max_structured_output_retries",
        kind: OptionKind::Integer { min: 1, max: 10 },
        default: "3",
        meaning: "attempts in total to get a structured answer",
    },
    OptionSpec {
        name: "max_concurrent_research_units",
        kind: OptionKind::Integer { min: 1, max: 20 },
        default: "5",
        meaning: "researchers that work at the same time; further ones wait",
    },
    OptionSpec {
        name: "max_concurrent_summaries",
        kind: OptionKind::Integer { min: 1, max: 1000 },
        default: "50",
        meaning: "pages of the whole run that are summarised at the same time, each with a model call and its text in memory",
    },
    OptionSpec {
        name: "max_researcher_iterations",
        kind: OptionKind::Integer { min: 1, max: 10 },
        default: "6",
        meaning: "rounds of the supervisor, each a model turn and its tool calls",
    },
    OptionSpec {
        name: "max_react_tool_calls",
        kind: OptionKind::Integer { min: 1, max: 30 },
        default: "10",
        meaning: "model turns of each researcher",
    },
    OptionSpec {
        name: "max_researcher_seconds",
        kind: OptionKind::Integer { min: 1, max: 86_400 },
        default: "3600",
        meaning: "time of each researcher, with its searches and summaries; after that its findings so far are used; a page that all researchers share may take a minute more (or FATHOM_MODEL_SECONDS, where that is set and longer), and its notes a quarter of the time",
    },
    OptionSpec {
        name: "max_run_seconds",
        kind: OptionKind::Integer { min: 10, max: 604_800 },
        default: "14400",
        meaning: "time of the whole run; shortly before its end the report is written from what is there; at its end the run fails",
    },
    OptionSpec {
        name: "max_model_calls",
        kind: OptionKind::Integer { min: 10, max: 1_000_000 },
        default: "2000",
        meaning: "model calls of the whole run; research stops before they are used up, so that the report can be written",
    },
    OptionSpec {
        name: "max_searches",
        kind: OptionKind::Integer { min: 1, max: 1_000_000 },
        default: "500",
        meaning: "searches of the whole run; after that the report is written from what is there",
    },
    OptionSpec {
        name: "max_pages",
        kind: OptionKind::Integer { min: 1, max: 1_000_000 },
        default: "5000",
        meaning: "web pages read in the whole run, those of search results included; after that, results keep their excerpts",
    },
    OptionSpec {
        name: "max_researchers",
        kind: OptionKind::Integer { min: 1, max: 100_000 },
        default: "500",
        meaning: "researchers started in the whole run; from 80 % of it on none is, and the report is written from what is there",
    },
    OptionSpec {
        name: "max_tokens",
        kind: OptionKind::Integer { min: 10_000, max: 4_000_000_000 },
        default: "20000000",
        meaning: "tokens, read and written, of the whole run; research stops before they are used up",
    },
    OptionSpec {
        name: "max_cost_usd",
        kind: OptionKind::OptionalDollars { max: 100_000 },
        default: "null",
        meaning: "dollars of the whole run, by known prices; research stops before they are spent, and a model without a known price is not called; where the server sets it, requests may only ask for less",
    },
    OptionSpec {
        name: "require_think",
        kind: OptionKind::Boolean,
        default: "false",
        meaning: "has the model reflect in turns of its own: calls that retrieve or delegate are refused beside think_tool, and where no reflection came before them; a researcher's first needs none",
    },
    OptionSpec {
        name: "effort",
        kind: OptionKind::Choice(&Effort::NAMES),
        default: "\"standard\"",
        meaning: "how deep to research and how long to write: sets rounds, turns, results, pages, when researchers stop and the length of the report; quick also limits calls, searches and time (15 minutes); options given beside it win",
    },
    OptionSpec {
        name: "follow_up",
        kind: OptionKind::Choice(&["auto", "research"]),
        default: "\"auto\"",
        meaning: "what a message after a report does: auto (answers, or revises the report, where no research is needed) or research (always)",
    },
    OptionSpec {
        name: "verify",
        kind: OptionKind::Choice(&["off", "figures", "claims"]),
        default: "\"figures\"",
        meaning: "how a report is checked against its sources: figures (numbers, dates, names and quotations, by code), claims (also each cited statement, by the research model) or off",
    },
    OptionSpec {
        name: "search_api",
        kind: OptionKind::Engines,
        default: "\"auto\"",
        meaning: "where researchers search: one engine, or several as a list or separated by commas; auto: the first that is configured",
    },
    OptionSpec {
        name: "search_fallback",
        kind: OptionKind::Fallback,
        default: "\"none\"",
        meaning: "engines that stand in, in this order, when all of search_api fail at a query (away, out of quota, or key refused); a list of names, or names separated by commas",
    },
    OptionSpec {
        name: "collections",
        kind: OptionKind::Collections,
        default: "[]",
        meaning: "ids of the owner's collections of documents, which are searched besides search_api and the thread's own documents",
    },
    OptionSpec {
        name: "read_pages",
        kind: OptionKind::Boolean,
        default: "true",
        meaning: "lets researchers of the web open pages by their address",
    },
    OptionSpec {
        name: "max_pages_per_search",
        kind: OptionKind::Integer { min: 0, max: 20 },
        default: "3",
        meaning: "pages of one search that are fetched when the engine sends excerpts only",
    },
    OptionSpec {
        name: "page_reading",
        kind: OptionKind::Choice(&PageReading::NAMES),
        default: "\"summarize\"",
        meaning: "what researchers see of a page: summarize (a summary by the summarization model) or passages (those that fit the question best, without a model call)",
    },
    OptionSpec {
        name: "search_time_range",
        kind: OptionKind::OptionalChoice(&TimeRange::NAMES),
        default: "null",
        meaning: "searches find only pages of the last day, week, month or year; null: the model may choose",
    },
    OptionSpec {
        name: "include_domains",
        kind: OptionKind::OptionalDomains,
        default: "null",
        meaning: "searches find only pages of these sites, subdomains included; names separated by commas",
    },
    OptionSpec {
        name: "exclude_domains",
        kind: OptionKind::OptionalDomains,
        default: "null",
        meaning: "searches find no pages of these sites, subdomains included; names separated by commas",
    },
    OptionSpec {
        name: "search_language",
        kind: OptionKind::OptionalLanguage,
        default: "null",
        meaning: "language of the pages searched for, where the engine can tell (ISO 639-1: de)",
    },
    OptionSpec {
        name: "search_country",
        kind: OptionKind::OptionalCountry,
        default: "null",
        meaning: "country that results are meant for, where the engine can tell (ISO 3166-1: DE)",
    },
    OptionSpec {
        name: "search_topic",
        kind: OptionKind::Choice(&Topic::NAMES),
        default: "\"general\"",
        meaning: "kind of pages searched for, where the engine can tell",
    },
    OptionSpec {
        name: "mcp_servers",
        kind: OptionKind::McpServers,
        default: "\"all\"",
        meaning: "MCP servers whose tools researchers may call: all that are configured, none, or names separated by commas",
    },
    OptionSpec {
        name: "mcp_config",
        kind: OptionKind::McpConfig,
        default: "null",
        meaning: "one more MCP server, in the form of Open Deep Research (url, tools, auth_required); requests may set it if limits.request_mcp allows that",
    },
    OptionSpec {
        name: "mcp_prompt",
        kind: OptionKind::OptionalText { max: 8_000 },
        default: "null",
        meaning: "instructions to researchers about the tools of MCP servers",
    },
    OptionSpec {
        name: "timezone",
        kind: OptionKind::TimeZone,
        default: "\"UTC\"",
        meaning: "the user's time zone (IANA name), for the date in prompts; the page sends the browser's, and fathom research takes the machine's",
    },
    OptionSpec {
        name: "max_content_length",
        kind: OptionKind::Integer { min: 1_000, max: 200_000 },
        default: "50000",
        meaning: "most characters of a page that a model reads at a time, if that is less than what it reads of itself: the passages that fit topic and query, some 6,000 characters (12,000 with effort deep, 8,000 of a page that it opens); more changes nothing; the whole page is kept",
    },
    OptionSpec {
        name: "summarization_model",
        kind: OptionKind::Model,
        default: "\"openai:gpt-4.1-mini\"",
        meaning: "model that summarises pages; as for every role, you may name several, separated by commas: the later ones stand in for the first",
    },
    OptionSpec {
        name: "summarization_model_max_tokens",
        kind: TOKENS,
        default: "8192",
        meaning: "output limit of that model, in tokens",
    },
    OptionSpec {
        name: "research_model",
        kind: OptionKind::Model,
        default: "\"openai:gpt-4.1\"",
        meaning: "model that clarifies, writes the brief, supervises and researches",
    },
    OptionSpec {
        name: "research_model_max_tokens",
        kind: TOKENS,
        default: "10000",
        meaning: "output limit of that model, in tokens",
    },
    OptionSpec {
        name: "compression_model",
        kind: OptionKind::Model,
        default: "\"openai:gpt-4.1\"",
        meaning: "model that turns a researcher's findings into notes",
    },
    OptionSpec {
        name: "compression_model_max_tokens",
        kind: TOKENS,
        default: "8192",
        meaning: "output limit of that model, in tokens",
    },
    OptionSpec {
        name: "final_report_model",
        kind: OptionKind::Model,
        default: "\"openai:gpt-4.1\"",
        meaning: "model that writes the report",
    },
    OptionSpec {
        name: "final_report_model_max_tokens",
        kind: TOKENS,
        default: "10000",
        meaning: "output limit of that model, in tokens",
    },
    OptionSpec {
        name: "model_context_window",
        kind: OptionKind::OptionalInteger { min: 1_024, max: 10_000_000 },
        default: "null",
        meaning: "context window of the models, in tokens; null: known by the model's name, or learnt from its server",
    },
];
