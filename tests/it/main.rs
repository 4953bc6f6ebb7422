//! One test binary: a file or folder per theme.

mod search;
