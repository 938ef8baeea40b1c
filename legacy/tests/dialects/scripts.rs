//! The articles' Lua, byte for byte: the SHA-1 that their clients send.

use lockshift_wire::Script;

#[test]
fn the_scripts_are_the_articles() {
    // Measured by OpenJDK 17.0.15 over what the articles' StringBuilder and string literals make.
    let scripts = [
        (include_str!("../../src/lua/setnx_expire.lua"), "b5c64315c2ed076635ef657e5bad25546a29f5db"),
        (include_str!("../../src/lua/del_if_get_equals.lua"), "dc5bfd546e24463524f2ed89cd7cb23c1cdbef34"),
        (include_str!("../../src/lua/jedis_unlock.lua"), "fa1bc72324116ca6feede5f0230a47c3863aba07"),
    ];
    // Measured by Python's hashlib over the strings of redis-py 2.10.6.
    let redis_py = [
        (include_str!("../../src/lua/redis_py_acquire.lua"), "5688a2541c9edd77746bcd2385e65ff3639a664f"),
        (include_str!("../../src/lua/redis_py_release.lua"), "c3f8721cbb97f72bc19e972846bd7aaf91901658"),
    ];
    // Measured by Python's hashlib over the strings of retools 0.4.1.
    let retools = [
        (include_str!("../../src/lua/retools_acquire.lua"), "61881932cbc5a69e45a36e8a42bef5b6d3446a88"),
        (include_str!("../../src/lua/retools_release.lua"), "b255ee9bbff4d3e5607b1c4c966e4e6499f55c3c"),
    ];
    let scripts = scripts.into_iter().chain(redis_py).chain(retools);
    for (text, sha1_hex) in scripts {
        assert_eq!(Script::new(text).sha1_hex(), sha1_hex, "{text}");
    }
}
