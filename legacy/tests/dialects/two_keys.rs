//! two_keys
