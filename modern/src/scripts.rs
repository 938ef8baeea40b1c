//! The Lua texts, as typed commands.

use lockshift_wire::Script;

/// Compare-and-delete.
pub(crate) const RELEASE: Script = Script::new(include_str!("lua/release.lua"));
/// Compare-and-expire.
pub(crate) const EXTEND: Script = Script::new(include_str!("lua/extend.lua"));
