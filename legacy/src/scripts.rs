//! The Lua texts, as typed commands. Those of the articles are theirs byte for byte, because their SHA-1 goes over the
//! wire: they have no comment of ours and no newline at their end.

use alloc::format;

use lockshift_wire::{Key, Reply, Script, Transcript, Turn, script_file};

/// KEYS\[1\] lock, ARGV\[1\] value, ARGV\[2\] lease in seconds. Answers `true` (1) or `false` (nil). The Java article's, with
/// the line breaks and tabs of its `StringBuilder`.
const SETNX_EXPIRE: Script = Script::new(include_str!("lua/setnx_expire.lua"));
/// KEYS\[1\] lock, ARGV\[1\] value. Answers `true` (1) or `false` (nil). The Java article's.
const DEL_IF_GET_EQUALS: Script = Script::new(include_str!("lua/del_if_get_equals.lua"));
/// KEYS\[1\] lock, ARGV\[1\] value. Answers 1 or 0. The Jedis article's, on one line.
const JEDIS_UNLOCK: Script = Script::new(include_str!("lua/jedis_unlock.lua"));
/// KEYS\[1\] lock, ARGV\[1\] token, ARGV\[2\] lease in milliseconds. Answers 1 or 0. From redis-py 2.10's `LuaLock`.
const REDIS_PY_ACQUIRE: Script = Script::new(include_str!("lua/redis_py_acquire.lua"));
/// KEYS\[1\] lock, ARGV\[1\] token. Answers 1 or 0. From redis-py 2.10's `LuaLock`.
const REDIS_PY_RELEASE: Script = Script::new(include_str!("lua/redis_py_release.lua"));
/// KEYS\[1\] lock, ARGV\[1\] token, ARGV\[2\] lease in seconds. Answers 1 or 0. From retools 0.4.
const RETOOLS_ACQUIRE: Script = Script::new(include_str!("lua/retools_acquire.lua"));
/// KEYS\[1\] lock, ARGV\[1\] token. Answers 1 or 0. From retools 0.4.
const RETOOLS_RELEASE: Script = Script::new(include_str!("lua/retools_release.lua"));
/// KEYS\[1\] lock, ARGV\[1\] old value, ARGV\[2\] new value, ARGV\[3\] ms to live, ARGV\[4\] whether by this dialect's rule.
/// Answers 1 or 0. Ours: an old client that extends its lock does not look.
const EXTEND: Script = script_file!("lua/extend.lua");

/// SETNX and, where that has set the key, EXPIRE: whether it has.
pub(crate) fn setnx_expire(redis: &mut Transcript, key: &Key, value: &[u8], lease_secs: i64) -> Turn<bool> {
    java_flag(redis, &SETNX_EXPIRE, key, &[value, format!("{lease_secs}").as_bytes()])
}

/// DEL if GET equals: whether it did.
pub(crate) fn del_if_get_equals(redis: &mut Transcript, key: &Key, value: &[u8]) -> Turn<bool> {
    java_flag(redis, &DEL_IF_GET_EQUALS, key, &[value])
}

/// SETNX and, where that has set the key, PEXPIRE: whether it has.
pub(crate) fn setnx_pexpire(redis: &mut Transcript, key: &Key, value: &[u8], lease_ms: i64) -> Turn<bool> {
    redis.script_flag(&REDIS_PY_ACQUIRE, &[key], &[value, format!("{lease_ms}").as_bytes()])
}

/// Compare-and-delete as redis-py's `LuaLock` sends it: whether it deleted.
pub(crate) fn redis_py_release(redis: &mut Transcript, key: &Key, value: &[u8]) -> Turn<bool> {
    redis.script_flag(&REDIS_PY_RELEASE, &[key], &[value])
}

/// SETNX and, where that has set the key, EXPIRE, as retools sends them: whether it has.
pub(crate) fn retools_acquire(redis: &mut Transcript, key: &Key, value: &[u8], lease_secs: i64) -> Turn<bool> {
    redis.script_flag(&RETOOLS_ACQUIRE, &[key], &[value, format!("{lease_secs}").as_bytes()])
}

/// Compare-and-delete as retools sends it: whether it deleted.
pub(crate) fn retools_release(redis: &mut Transcript, key: &Key, value: &[u8]) -> Turn<bool> {
    redis.script_flag(&RETOOLS_RELEASE, &[key], &[value])
}

/// Compare-and-delete as Jedis sends it, by EVAL every time. The reply is the caller's to ignore.
pub(crate) fn jedis_unlock(redis: &mut Transcript, key: &Key, value: &[u8]) -> Turn<Reply> {
    redis.send(JEDIS_UNLOCK.eval(&[key], &[value]))
}

/// Deletes the key if it still holds the value: ours, with the text of the Jedis article.
pub(crate) fn compare_and_del(redis: &mut Transcript, key: &Key, value: &[u8]) -> Turn<bool> {
    redis.script_flag(&JEDIS_UNLOCK, &[key], &[value])
}

/// A new value in the place of the old: ours.
pub(crate) struct Extension<'a> {
    pub(crate) old: &'a [u8],
    pub(crate) new: &'a [u8],
    pub(crate) life_ms: u128,
    pub(crate) gives_ttl: bool,
}

/// Writes the new value if the key still holds the old: whether it did.
pub(crate) fn extend(redis: &mut Transcript, key: &Key, extension: &Extension<'_>) -> Turn<bool> {
    let life_ms = format!("{}", extension.life_ms);
    let gives_ttl: &[u8] = if extension.gives_ttl { b"1" } else { b"0" };
    redis.script_flag(&EXTEND, &[key], &[extension.old, extension.new, life_ms.as_bytes(), gives_ttl])
}

/// Runs a script that returns Lua's `true`, which becomes 1, or `false`, which becomes nil.
fn java_flag(redis: &mut Transcript, script: &Script, key: &Key, args: &[&[u8]]) -> Turn<bool> {
    match redis.script(script, &[key], args)? {
        Reply::Int(1) => Ok(true),
        Reply::Nil => Ok(false),
        reply => Transcript::fault(script.evalsha(&[key], args), reply),
    }
}
