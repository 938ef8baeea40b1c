//! Release, disclaim and extension: held or lost, by hash, by text, by native command, and after a refused native command.

use lockshift_lock::{Extended, Locker, Released};
use lockshift_modern::{CompareDelete, Native, Timing, TokenLock};

use crate::dialogue::{hold, lease, owner, play};

const WRONGTYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

fn lock(native: Native) -> TokenLock {
    TokenLock::new("k".into(), lease(10_000)).native(native)
}

fn release(native: Native, dialogue: &str) -> Result<Released, String> {
    let disclaimed = play(dialogue, |redis| lock(native).disclaim(&owner(), redis));
    let released = play(dialogue, |redis| lock(native).release(&hold(0, 10_000), redis));
    assert_eq!(disclaimed, released.clone().map(drop), "disclaim sends what release sends");
    released
}

fn extend(native: Native, timing: Timing, dialogue: &str) -> Result<Extended, String> {
    play(dialogue, |redis| lock(native).timed(timing).extend(&hold(0, 4_000), redis))
}

#[test]
fn a_release_deletes_the_key_while_it_holds_the_token() {
    let delex = Native { delete: Some(CompareDelete::DelEx), set_ifeq: false };
    let table = [
        (Native::NONE, "EVALSHA <release> 1 k <token>"),
        (Native::VALKEY_8_1, "EVALSHA <release> 1 k <token>"),
        (Native::VALKEY_9_0, "DELIFEQ k <token>"),
        (Native::REDIS_8_4, "DELEX k IFEQ <token>"),
        (delex, "DELEX k IFEQ <token>"),
    ];
    for (native, command) in table {
        assert_eq!(release(native, &format!("{command} -> 1")), Ok(Released::Freed), "{native:?}");
        assert_eq!(release(native, &format!("{command} -> 0")), Ok(Released::Lost), "{native:?}");
        let nonsense = release(native, &format!("{command} -> (nil)")).unwrap_err();
        assert!(nonsense.ends_with("unexpected reply (nil)"), "{nonsense}");
    }
}

#[test]
fn an_unknown_script_is_sent_as_text() {
    let unknown = "
        EVALSHA <release> 1 k <token> -> (error) NOSCRIPT No matching script. Please use EVAL.
        EVAL <release.lua> 1 k <token> -> 1
        ";
    assert_eq!(release(Native::NONE, unknown), Ok(Released::Freed));

    let unknown = "
        clock -> 4
        EVALSHA <extend> 1 k <token> 10000 -> (error) NOSCRIPT No matching script. Please use EVAL.
        EVAL <extend.lua> 1 k <token> 10000 -> 1
        ";
    assert_eq!(extend(Native::NONE, Timing::Px, unknown), Ok(Extended::Until(hold(4, 10_000))));
}

#[test]
fn the_script_decides_where_a_native_command_is_refused() {
    let refusals = [
        "ERR unknown command 'DELIFEQ', with args beginning with: 'k'",
        "ERR syntax error",
        "NOPERM User app has no permissions to run the 'delifeq' command",
        "OOM command not allowed when used memory > 'maxmemory'.",
    ];
    for refusal in refusals {
        for (native, command) in
            [(Native::VALKEY_9_0, "DELIFEQ k <token>"), (Native::REDIS_8_4, "DELEX k IFEQ <token>")]
        {
            let refused = format!("{command} -> (error) {refusal}\nEVALSHA <release> 1 k <token> -> 1");
            assert_eq!(release(native, &refused), Ok(Released::Freed), "{refusal}");
        }
        let refused = format!(
            "clock -> 4
            SET k <token> IFEQ <token> PX 10000 -> (error) {refusal}
            EVALSHA <extend> 1 k <token> 10000 -> 1"
        );
        assert_eq!(extend(Native::VALKEY_8_1, Timing::Px, &refused), Ok(Extended::Until(hold(4, 10_000))), "{refusal}");
    }
    let both = format!(
        "DELIFEQ k <token> -> (error) {WRONGTYPE}
        EVALSHA <release> 1 k <token> -> (error) {WRONGTYPE}"
    );
    assert!(release(Native::VALKEY_9_0, &both).unwrap_err().ends_with(WRONGTYPE));
}

/// The option that sends the lease, the script arguments and the native command that extend it, each at 1700000000004 ms.
#[test]
fn an_extension_gives_a_whole_lease_from_now() {
    let table = [
        (Timing::Px, "<extend> 1 k <token> 10000", "PX 10000"),
        (Timing::Ex, "<extend> 1 k <token> 10000", "EX 10"),
        (Timing::PxAt, "<extend_until> 1 k <token> 1700000010004", "PXAT 1700000010004"),
        (Timing::ExAt, "<extend_until> 1 k <token> 1700000011000", "EXAT 1700000011"),
    ];
    for (timing, by_script, by_set) in table {
        let look = match timing {
            Timing::Px | Timing::Ex => "",
            _ => "\nclock -> 4\nPTTL k -> 11000\nGET k -> \"<token>\"",
        };
        let ways = [
            (Native::NONE, format!("EVALSHA {by_script}"), "1", "0"),
            (Native::REDIS_8_4, format!("SET k <token> IFEQ <token> {by_set}"), "OK", "(nil)"),
            (Native::VALKEY_8_1, format!("SET k <token> IFEQ <token> {by_set}"), "OK", "(nil)"),
        ];
        for (native, command, yes, no) in ways {
            let ours = format!("clock -> 4\n{command} -> {yes}{look}");
            assert_eq!(extend(native, timing, &ours), Ok(Extended::Until(hold(4, 10_000))), "{command}");
            let lost = format!("clock -> 4\n{command} -> {no}");
            assert_eq!(extend(native, timing, &lost), Ok(Extended::Lost), "{command}");
        }
    }
}
