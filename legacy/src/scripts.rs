//! The Lua texts. Those of the articles are theirs byte for byte, because their SHA-1 goes over the wire: they have no
//! comment of ours and no newline at their end.

use lockshift_wire::Script;

/// KEYS\[1\] lock, ARGV\[1\] value, ARGV\[2\] lease in seconds. Answers `true` (1) or `false` (nil). The Java article's, with
/// the line breaks and tabs of its `StringBuilder`.
pub(crate) const SETNX_EXPIRE: Script = Script::new(include_str!("lua/setnx_expire.lua"));
/// KEYS\[1\] lock, ARGV\[1\] value. Answers `true` (1) or `false` (nil). The Java article's.
pub(crate) const DEL_IF_GET_EQUALS: Script = Script::new(include_str!("lua/del_if_get_equals.lua"));
/// KEYS\[1\] lock, ARGV\[1\] value. Answers 1 or 0. That of the Jedis class, on one line.
pub(crate) const JEDIS_UNLOCK: Script = Script::new(include_str!("lua/jedis_unlock.lua"));
/// KEYS\[1\] lock, ARGV\[1\] value, ARGV\[2\] lease in seconds. Answers 1 or 0. That of the Jedis class, on one line.
pub(crate) const JEDIS_RENEW: Script = Script::new(include_str!("lua/jedis_renew.lua"));
/// Ours: no old client renews.
pub(crate) const EXTEND: Script = Script::new(include_str!("lua/extend.lua"));
