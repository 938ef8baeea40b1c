//! What goes wrong with a server, as the command says it: which key, at which address, what to do.

use std::fmt::Display;
use std::time::Duration;

use redis::RedisError;

use super::exit::{Exit, Failure};
use super::os_error::without_number;
use crate::compare;
use crate::connect::{ClientCertificate, Server, TlsAlert};
use crate::driver::{Error, ErrorKind, Interrupted, Unknown};
use crate::wire::{Key, Printable};

/// Connecting for the sake of `key` failed.
pub(super) fn of_connection(server: &impl Display, is_encrypted: bool, key: &Key, error: RedisError) -> Failure {
    if let Some(sentence) = of_alert(&error) {
        return Failure::new(Exit::Unusable, format_args!("{server}: {sentence}"));
    }
    if error.to_string().contains("cluster support disabled") {
        let sentence = "several addresses, or ?cluster=true, mean a cluster, and this server is not a node of one: name one address";
        return Failure::new(Exit::Unusable, format_args!("{server}: {sentence}"));
    }
    let words = harmless(&error);
    let was_closed = error.is_connection_dropped();
    let error = Error::connection(key, error);
    match error.kind() {
        // The address is right. A server that admits no client says why, but that is lost where it closes at once.
        ErrorKind::Disconnected if was_closed => {
            let certificate = if is_encrypted { ", or want a certificate (--tls-cert)" } else { "" };
            let sentence = format!(
                "{server}: the server closed the connection ({words}): it may have stopped, be in protected mode, or have reached \
                 maxclients{certificate}: see its log and configuration"
            );
            Failure::new(Exit::Unusable, sentence)
        }
        // No connection existed before: the name is unknown, the handshake failed.
        ErrorKind::Disconnected | ErrorKind::Unusable => {
            let remedy = match is_encrypted {
                false => "correct the address",
                true => "correct the address, or name the certificates to trust with --tls-ca or in SSL_CERT_FILE",
            };
            Failure::new(Exit::Unusable, format_args!("{server}: no connection ({words}): {remedy}"))
        }
        kind => Failure::new(Exit::Unusable, format_args!("{server}: {kind}{}", own_words(&error))),
    }
}

/// A server does not answer, or refuses what is asked of it.
pub(super) fn of_server(server: &Server, error: RedisError) -> Failure {
    // The commands are not those of a lock, so the server's own words name the one that it refuses.
    if let Some("NOPERM") = error.code() {
        let words = harmless(&error);
        return Failure::new(
            Exit::Unusable,
            format_args!(
                "{server}: this user may not run a command that is needed ({words}): grant it with ACL SETUSER"
            ),
        );
    }
    of_connection(server, server.is_encrypted(), &Key::from(""), error)
}

/// A procedure that only reads broke off.
pub(super) fn of_procedure(server: &impl Display, broken: Interrupted) -> Failure {
    if let Some(sentence) = of_alert(&broken.cause) {
        return Failure::new(Exit::Unusable, format_args!("{server}: {sentence}"));
    }
    let source =
        std::error::Error::source(&broken.cause).map_or_else(String::new, |source| format!(" ({})", harmless(&source)));
    Failure::new(Exit::Unusable, format_args!("{server}: {}{source}", harmless(&broken.cause)))
}

/// The lock cannot be used.
pub(super) fn of_lock(server: &impl Display, error: &Error) -> Failure {
    let (key, kind, words) = (error.key(), error.kind(), own_words(error));
    if let Some(sentence) = of_alert(error) {
        return Failure::new(Exit::Unusable, format_args!("lock key `{key}` at {server}: {sentence}"));
    }
    Failure::new(Exit::Unusable, format_args!("lock key `{key}` at {server}: {kind}{words}"))
}

/// The lock could not be released, and ends in this time; `None`: never.
pub(super) fn of_release(server: &impl Display, error: &Error, left: Option<Duration>) -> String {
    let (key, problem, words) = (error.key(), error.kind().problem(), own_words(error));
    let end = match left {
        Some(left) => format!("its lease ends it within {} s", left.as_secs() + 1),
        None => "it stays until it is deleted".to_owned(),
    };
    format!("lock key `{key}` at {server}: the release failed, {problem}{words}: if the lock is still there, {end}")
}

/// A reply was lost.
pub(super) fn of_unknown(server: &impl Display, unknown: &Unknown) -> Failure {
    Failure::new(Exit::Unknown, format_args!("{unknown} ({server}: {})", harmless(&unknown.source)))
}

/// A comparison could not be finished. Its key is its own, so it is not named.
pub(super) fn of_compare(server: &impl Display, error: compare::RunError) -> Failure {
    use compare::RunError as T;
    match error {
        T::Server(error) => {
            Failure::new(Exit::Unusable, format_args!("{server}: {}{}", error.kind(), own_words(&error)))
        }
        T::Unknown(unknown) => of_unknown(server, &unknown),
        error @ T::NoThread(_) => Failure::new(Exit::Unusable, format_args!("{error}: compare with fewer --clients")),
        error @ (T::Unreadable(_) | T::NoRandomness(_)) => Failure::new(Exit::Unusable, error),
    }
}

/// What to do if the server has sent a TLS alert: it has refused this client, whatever this client thinks of the server.
fn of_alert(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let alert = TlsAlert::behind(error)?;
    let (problem, remedy) = match alert.on_certificate() {
        ClientCertificate::Missing => ("wants a certificate of its client", "name it with --tls-cert and --tls-key"),
        ClientCertificate::Refused => (
            "refused the certificate of its client",
            "name one that it accepts with --tls-cert and --tls-key; see its `tls-ca-cert-file`",
        ),
        ClientCertificate::MaybeMissing => (
            "refused the encrypted connection",
            "it may want a certificate of its client (--tls-cert and --tls-key), or another version of TLS",
        ),
        ClientCertificate::NotConcerned => ("refused the encrypted connection", "see its log and its TLS settings"),
    };
    Some(format!("the server {problem} (TLS alert {}): {remedy}", alert.name()))
}

/// The message of the server or the system, for an error whose kind alone does not explain it.
fn own_words(error: &Error) -> String {
    let source = std::error::Error::source(error);
    match error.kind() {
        ErrorKind::Refused | ErrorKind::NotRedis | ErrorKind::TooFewServers | ErrorKind::Unusable => {
            source.map_or_else(String::new, |source| format!(" ({})", harmless(&source)))
        }
        _ => String::new(),
    }
}

/// What the server or the system says, on one line and in ASCII: nothing in it controls the terminal.
fn harmless(words: &impl Display) -> String {
    let mut line = String::new();
    for letter in without_number(&words.to_string()).chars() {
        match letter {
            ' '..='~' => line.push(letter),
            _ => line.push_str(&Printable(letter.encode_utf8(&mut [0; 4]).as_bytes()).to_string()),
        }
    }
    line
}
