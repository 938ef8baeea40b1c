//! scripts
