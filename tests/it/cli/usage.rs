//! What was typed: understood, explained, or refused with exit status 2.

use super::command::{done, lockshift};
use crate::server::Server;

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_sent() {
    let redis = ["--redis", "redis://127.0.0.1:1"];
    let table: [(&[&str], &str); 23] = [
        (&[], "Usage: lockshift"),
        (&["nonesuch"], "unrecognized subcommand"),
        (&["run"], "<KEY>"),
        (&["run", "k"], "<CMD>"),
        (&["run", "k", "--", "true"], "which Redis? Name it with --redis"),
        (&["compare", "token"], "which Redis? Name it with --redis"),
        (&["run", "k", "--lease", "0s", "--", "true"], "a lease of 0ns is too short: the shortest is 1 ms"),
        (
            &["run", "k", "--lease", "9223372036854775808s", "--", "true"],
            "too long: the longest is 3153600000s, 100 years of 365 days",
        ),
        (&["run", "k", "--lease", "99999999999999999999s", "--", "true"], "--lease"),
        (&["run", "k", "--lease", "2ms", "--", "true"], "a lease of 2ms cannot be relied on"),
        (&["run", "k", "--lease", "-5s", "--", "true"], "unexpected argument"),
        (&["run", "k", "--lease", "thirty", "--", "true"], "--lease"),
        (&["run", "k", "--wait", "30", "--", "true"], "time unit needed"),
        (&["run", "k", "--wait", "1s", "--nonblock", "--", "true"], "cannot be used with"),
        (&["run", "k", "-E", "256", "--", "true"], "256 is not in 0..=255"),
        (&["run", "k", "--protocol", "tokn", "--", "true"], "there is no protocol `tokn`: did you mean `token`?"),
        (&["run", "k", "--protocol", "bridge:token", "--", "true"], "cannot bridge `token`: a bridge is named by"),
        (&["run", "k", "--protocol", "token,colour=red", "--", "true"], "`token` has no option `colour=red`"),
        (&["compare"], "<PROTOCOL>"),
        (&["compare", "token", "--clients", "0"], "--clients"),
        (&["compare", "token", "--seconds", "0"], "a number of seconds from 0.1 to 86400"),
        (&["compare", "token", "--crash", "101"], "a share is a whole number from 0 to 100"),
        (&["compare", "token", "--wait", "nonesuch"], "possible values: backoff"),
    ];
    for (args, expected) in table {
        let with_server = args.iter().chain(if expected.starts_with("which") { [].iter() } else { redis.iter() });
        let refused = done(lockshift(), with_server);
        assert_eq!(refused.code, Some(2), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains(expected), "{args:?}: {expected} not in {}", refused.stderr);
        assert_eq!(refused.stdout, "", "{args:?}");
    }
}

#[test]
fn several_servers_that_are_no_cluster_are_named_as_that() {
    let server = Server::start();
    let urls = [server.url(), server.url()].join(",");
    for command in [&["inspect", "k"][..], &["scan"]] {
        let refused = done(lockshift(), [command, &["--redis", &urls]].concat());
        assert_eq!(refused.code, Some(3), "{refused:?}");
        let says = ": several addresses, or ?cluster=true, mean a cluster, and this server is not a node of one: name one address\n";
        assert!(refused.stderr.ends_with(says), "{refused:?}");
    }
}

#[test]
fn invalid_addresses_are_refused_without_leaking_passwords() {
    let table: [(&[&str], &str); 4] = [
        (&["http://:sesame@localhost"], "http://***@localhost is not the address of a Redis: it begins with redis://"),
        (&["redis://:sesame@localhost:notaport"], "redis://***@localhost:notaport is not the address of a Redis"),
        (&["redis://:sesame@localhost/notadb"], "Invalid database number"),
        (
            &["redis://:sesame@localhost", "redis+unix:///run/redis.sock"],
            "redis+unix:///run/redis.sock cannot be a node",
        ),
    ];
    for (urls, expected) in table {
        let refused = done(lockshift(), ["run", "k", "--redis", &urls.join(","), "--", "true"]);
        assert_eq!(refused.code, Some(2), "{urls:?}: {refused:?}");
        assert!(refused.stderr.contains(expected), "{urls:?}: {}", refused.stderr);
        assert!(!refused.stderr.contains("sesame"), "{urls:?}: {}", refused.stderr);
    }
}

#[test]
fn offline_commands_need_no_server() {
    let mut command = lockshift();
    command.env("REDIS_URL", "http://not.redis.example");
    assert_eq!(done(command, ["protocols"]).code, Some(0));
}

#[test]
fn every_command_explains_itself() {
    for args in [&["--help"][..], &["run", "--help"], &["inspect", "--help"], &["compare", "--help"]] {
        let help = done(lockshift(), args);
        assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""), "{args:?}");
        for expected in ["Usage: lockshift", "Examples:", "--redis", "--json"] {
            assert!(help.stdout.contains(expected), "{args:?}: no {expected} in\n{}", help.stdout);
        }
        assert!(!help.stdout.contains('\x1b'), "no colours without a terminal");
    }
}

#[test]
fn a_server_is_named_only_where_one_is_used() {
    for command in ["run", "inspect", "scan", "compare", "races", "record"] {
        let help = done(lockshift(), [command, "--help"]).stdout;
        for option in ["--redis", "--user", "--password-file", "--tls-ca", "--tls-cert", "--tls-key"] {
            assert!(help.contains(option), "{command} does not offer {option}");
        }
    }
    for command in ["explore", "matrix", "plan", "audit", "dry-run", "protocols", "completions", "man"] {
        let help = done(lockshift(), [command, "--help"]).stdout;
        assert!(!help.contains("--redis URL") && !help.contains("--tls-ca"), "{command} offers a server");
        let refused = done(lockshift(), [command, "--redis", "redis://127.0.0.1:1"]);
        assert_eq!(refused.code, Some(2), "{command}: {refused:?}");
        assert!(refused.stderr.contains("unexpected argument '--redis'"), "{command}: {refused:?}");
    }
}

#[test]
fn it_tells_its_version() {
    let expected = format!("lockshift {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(done(lockshift(), ["--version"]).stdout, expected);
}

#[test]
fn shells_can_complete_it() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = done(lockshift(), ["completions", shell]);
        assert_eq!(script.code, Some(0), "{shell}: {script:?}");
        assert!(script.stdout.contains("conflict-exit-code"), "{shell}: {}", script.stdout);
    }
    assert_eq!(done(lockshift(), ["completions", "csh"]).code, Some(2));
}

#[test]
fn shells_complete_protocols_and_races() {
    for shell in ["bash", "zsh", "fish"] {
        let script = done(lockshift(), ["completions", shell]).stdout;
        for name in ["php-getset", "late-unlock", "notified"] {
            assert!(script.contains(name), "{shell} knows no {name}");
        }
    }
}

#[test]
fn what_only_run_starts_is_not_offered() {
    for args in [&["--help"][..], &["man"], &["completions", "bash"]] {
        let shown = done(lockshift(), args).stdout;
        assert!(!shown.contains("Run CMD for `lockshift run`") && !shown.contains("lockshift\\-supervise"), "{args:?}");
    }
    assert_eq!(done(lockshift(), ["supervise", "--", "true"]).code, Some(2));
}

#[test]
fn an_empty_address_in_the_environment_counts_as_unset() {
    let mut command = lockshift();
    command.env("REDIS_URL", "");
    let ended = done(command, ["run", "k", "--", "true"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("which Redis?"), "{ended:?}");
}

#[test]
fn what_has_no_json_refuses_to_print_any() {
    for args in [&["man"][..], &["man", "run"], &["completions", "bash"]] {
        let refused = done(lockshift(), [args, &["--json"]].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("not JSON: leave out --json"), "{args:?}: {refused:?}");
    }
}

#[test]
fn it_has_manual_pages() {
    let whole = done(lockshift(), ["man"]);
    assert!(whole.stdout.starts_with(".ie") && whole.stdout.contains(".TH lockshift 1"), "{whole:?}");
    let run = done(lockshift(), ["man", "run"]);
    assert!(run.stdout.contains("flock(1)") && run.stdout.contains("on\\-lost"), "{run:?}");
    for unknown in ["nonesuch", "help"] {
        let refused = done(lockshift(), ["man", unknown]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
        assert!(refused.stderr.contains(&format!("there is no command `{unknown}`")), "{refused:?}");
    }
    assert!(!whole.stdout.contains("lockshift\\-help"), "there is no such page: {whole:?}");
    for (page, example) in [(whole, "lockshift races"), (run, "lockshift run nightly\\-backup")] {
        for section in ["EXAMPLES", "EXIT STATUS", "ENVIRONMENT"] {
            assert_eq!(page.stdout.matches(&format!(".SH \"{section}\"")).count(), 1, "{section}: {page:?}");
        }
        assert!(page.stdout.contains(example) && !page.stdout.contains('\x1b'), "{page:?}");
    }
}

/// No server is asked before.
#[test]
fn values_that_ask_for_nothing_are_refused() {
    for (args, why) in [
        (&["protocols", "token", "--acl", "--key", ""][..], "a value is required for '--key <GLOB>'"),
        (&["odds", "tests/traces/php-fleet.log", "--periods", "0"], "a whole number from 1 to 4294967295"),
        (&["scan", "--rate", "0", "--redis", "redis://127.0.0.1:1/"], "a whole number from 1 to 4294967295"),
        (&["scan", "--rate", "-1", "--redis", "redis://127.0.0.1:1/"], "unexpected argument '-1'"),
    ] {
        let refused = done(lockshift(), args);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains(why), "{args:?}: {refused:?}");
    }
}
