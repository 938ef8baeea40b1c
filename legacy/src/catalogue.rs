//! Every implementation that is known, a row each: first the texts, then by language.

pub mod csharp;
pub mod go;
pub mod java;
pub mod java_article;
pub mod jedis_article;
mod margin;
pub mod node;
pub mod php;
pub mod php_article;
pub mod python;
pub mod redis_page;
pub mod ruby;
pub mod ruby_resque;

use crate::Dialect;

/// The rows, by where they come from.
const CHAPTERS: &[&[&Dialect]] = &[
    redis_page::ROWS,
    php_article::ROWS,
    java_article::ROWS,
    jedis_article::ROWS,
    php::ROWS,
    java::ROWS,
    ruby::ROWS,
    ruby_resque::ROWS,
    python::ROWS,
    node::ROWS,
    csharp::ROWS,
    go::ROWS,
];

/// All rows, in the order of the tables.
pub fn catalogue() -> impl Iterator<Item = &'static Dialect> {
    CHAPTERS.iter().flat_map(|rows| rows.iter().copied())
}

/// The row of this name, or of an implementation that goes by it.
pub fn find(name: &str) -> Option<&'static Dialect> {
    catalogue().find(|dialect| dialect.name == name).or_else(|| catalogue().find(|dialect| dialect.is_called(name)))
}
