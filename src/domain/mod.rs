//! The words every room may use: ids, runs, options, events, sources, reports.
//!
//! No I/O, no async, and nothing from another room. What is public JSON (events, runs, options) is defined
//! here and nowhere else.

pub mod admission;
mod api_key;
mod caps;
mod citation;
pub mod claim;
pub mod digest;
mod distinct;
mod effort;
pub mod estimate;
pub mod event;
mod evidence;
#[cfg(test)]
pub mod growth;
pub mod ids;
mod limit_wording;
pub mod limits;
pub mod mcp;
mod merge;
mod model_name;
mod moment;
mod name_list;
pub mod nearest;
mod option_kind;
mod option_table;
pub mod options;
mod owner;
pub mod presets;
pub mod price;
pub mod printable;
mod progress;
pub mod report;
mod request_keys;
pub mod run;
pub mod same;
mod search_api;
mod search_filter;
mod share;
mod sub_question;
pub mod time;
mod upload;
mod use_limits;
pub mod wildcard;
pub mod wording;

pub use api_key::{ApiKey, KeyScope, Revoked};
pub use caps::Caps;
pub use claim::Verify;
pub use distinct::distinct;
pub use effort::Effort;
pub use estimate::Estimate;
pub use event::{Agent, Envelope, Event, FollowUpAction, Scope, ToolKind, Wait, WaitKind, WarningCode};
pub use evidence::{Evidence, Finding};
pub use ids::{ApiKeyId, CollectionId, DocumentId, MessageId, RunId, ShareId, SourceId, ThreadId};
pub use mcp::{McpConfig, McpServers};
pub use merge::merge;
pub use model_name::{ModelName, Models};
pub use moment::Moment;
pub use options::{FollowUp, OptionError, PageReading, RunOptions};
pub use owner::{BadName, Caller, Owner, Reach};
pub use price::{Cost, LongPrompt, Price};
pub use printable::{
    is_invisible, printable, printable_json, printable_line, printable_log, shortened, shows_nothing, uncontrolled,
    without_line_ends,
};
pub use progress::ProgressChange;
pub use report::{Note, OF_SERVER, Source};
pub use request_keys::{GivenKeys, KeyPolicy};
pub use run::{
    Failure, FailureCode, Message, MessageRole, ModelUsage, Outcome, Progress, Researchers, Run, RunDetails, RunStatus,
    Thread, ThreadStatus, Usage, Waiting,
};
pub use search_api::{SearchApi, SearchFallback};
pub use search_filter::{Domains, TimeRange, Topic};
pub use share::Share;
pub use sub_question::{AnswerStatus, SubQuestion};
pub use time::Timestamp;
pub use upload::{Collection, DocumentSet, Upload};
pub use use_limits::{Allowance, Limited, UseLimits};
