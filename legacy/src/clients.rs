//! clients
