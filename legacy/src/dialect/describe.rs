//! A row in words, for tables and reports.
