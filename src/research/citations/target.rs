//! Where a number or label leads.

/// The target of a number or label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A retrieved source, by index.
    Source(usize),
    /// An address that was not retrieved, or none.
    Foreign,
    /// A footnote that says something; it stays.
    Remark,
}

impl Target {
    /// Returns the index of the source, if one was retrieved.
    pub(super) fn source(self) -> Option<usize> {
        match self {
            Self::Source(index) => Some(index),
            Self::Foreign | Self::Remark => None,
        }
    }
}
