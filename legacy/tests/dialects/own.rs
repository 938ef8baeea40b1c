//! own
