//! The rows and the engine.
//!
//! - `catalogue`: the rows as a whole: names, families, words
//! - `rows`: every field that a row sets counts, and none is set twice
//! - `stamps`: values against what the originals' own expressions write
//! - `properties`: what every row writes, it reads itself; nothing overflows
//! - `walk`: how the steps below are written and checked
//! - `redis_page`, `php_article`, `by_php`, ...: the steps of an attempt and of a release, line by line
//! - `holder`: extension, ownership, and an attempt whose reply was lost
//! - `scripts`: the articles' Lua, byte for byte

mod by_csharp_and_go;
mod by_java;
mod by_node;
mod by_php;
mod by_php_json;
mod by_python;
mod by_redis_py;
mod by_resque;
mod by_ruby;
mod catalogue;
mod holder;
mod java_article;
mod jedis_article;
mod php_article;
mod properties;
mod redis_page;
mod refusals;
mod rows;
mod scripts;
mod stamps;
mod two_keys;
mod walk;

use lockshift_lock::{Owner, Token};

/// The owner that all tests ask for: its token makes the UUID 11111111-1111-4111-9111-111111111111.
const ME: Owner = Owner::new(Token::new([0x11; 16]), 4711, 42);
