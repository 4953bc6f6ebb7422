//! What a model is asked as.

/// Which model, limit and ledger line a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Research,
    Summarization,
    Compression,
    FinalReport,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Research => "research",
            Self::Summarization => "summarization",
            Self::Compression => "compression",
            Self::FinalReport => "final_report",
        }
    }

    /// Returns the option with the output limit of its model.
    pub fn limit_option(self) -> &'static str {
        match self {
            Self::Research => "research_model_max_tokens",
            Self::Summarization => "summarization_model_max_tokens",
            Self::Compression => "compression_model_max_tokens",
            Self::FinalReport => "final_report_model_max_tokens",
        }
    }
}
