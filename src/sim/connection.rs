//! The connection itself: PING, ECHO, SELECT, AUTH, HELLO, CLIENT, RESET, QUIT.

use super::call::{self, Answer, Call, Row};
use super::flavour::Flavour;
use super::number;
use super::refusal::Refusal;
use super::state::DATABASES;
use crate::wire::Reply;

pub(super) const ROWS: &[Row] = &[
    Row::speaks("ping", -1, ping).also_while_listening(),
    Row::speaks("echo", 2, |call| Ok(Reply::bulk(&call.args()[0]))),
    Row::speaks("select", 2, select),
    Row::session("auth", -2, auth),
    Row::session("hello", -1, hello),
    Row::steers("reset", 1, |call| Ok(forget(call, "RESET"))).also_while_listening(),
    Row::steers("quit", -1, |call| Ok(forget(call, "OK"))).also_while_listening(),
    Row::speaks("client", -2, call::never).with_subcommands(),
    Row::session("client|id", 2, |call| Ok(Reply::Int(i64::from(call.session.0)))),
    Row::session("client|setname", 3, |call| set_name(call, 1)),
    Row::session("client|getname", 2, get_name),
    Row::session("client|setinfo", 4, |_| Ok(Reply::ok())).only_in(&[Flavour::Redis84, Flavour::Valkey9]),
];

fn ping(call: &mut Call<'_>) -> Answer {
    let listening = !call.connection().subscriptions.is_empty();
    match call.args() {
        [] if listening => Ok(Reply::Array(vec![Reply::bulk("pong"), Reply::bulk("")])),
        [word] if listening => Ok(Reply::Array(vec![Reply::bulk("pong"), Reply::bulk(word)])),
        [] => Ok(Reply::Status("PONG".to_owned())),
        [word] => Ok(Reply::bulk(word)),
        _ => Err(Refusal::Arity(call.name)),
    }
}

fn select(call: &mut Call<'_>) -> Answer {
    let db = i32::try_from(call.integer(0)?).map_err(|_| Refusal::NotAnInteger)?;
    let db = usize::try_from(db).ok().filter(|db| *db < DATABASES);
    call.db = db.ok_or_else(|| Refusal::err("DB index is out of range"))?;
    Ok(Reply::ok())
}

/// The default user needs no password here, as in a server with its defaults.
fn auth(call: &mut Call<'_>) -> Answer {
    match call.args() {
        [_] => Err(Refusal::err(
            "AUTH <password> called without any password configured for the default user. Are you sure your \
             configuration is correct?",
        )),
        [user, _] => check_user(user).map(|()| Reply::ok()),
        _ => Err(Refusal::Syntax),
    }
}

fn check_user(user: &[u8]) -> Result<(), Refusal> {
    let wrong = || Refusal::Other("WRONGPASS invalid username-password pair or user is disabled.".to_owned());
    if user == b"default" { Ok(()) } else { Err(wrong()) }
}

/// Only RESP2 is spoken here: a reply has no maps.
fn hello(call: &mut Call<'_>) -> Answer {
    let args = call.args();
    if let Some(version) = args.first() {
        let not_a_number = || Refusal::err("Protocol version is not an integer or out of range");
        if number::integer(version).ok_or_else(not_a_number)? != 2 {
            return Err(Refusal::Other("NOPROTO unsupported protocol version".to_owned()));
        }
    }
    let mut index = 1;
    while index < args.len() {
        let left = args.len() - index - 1;
        match args[index].to_ascii_uppercase().as_slice() {
            b"AUTH" if left >= 2 => {
                check_user(&args[index + 1])?;
                index += 3;
            }
            b"SETNAME" if left >= 1 => {
                set_name(call, index + 1)?;
                index += 2;
            }
            _ => {
                let option = String::from_utf8_lossy(&args[index]);
                return Err(Refusal::err(format_args!("Syntax error in HELLO option '{option}'")));
            }
        }
    }
    Ok(introduction(call))
}

fn introduction(call: &Call<'_>) -> Reply {
    let flavour = call.state.flavour;
    Reply::Array(vec![
        Reply::bulk("server"),
        Reply::bulk(flavour.server_name()),
        Reply::bulk("version"),
        Reply::bulk(flavour.version()),
        Reply::bulk("proto"),
        Reply::Int(2),
        Reply::bulk("id"),
        Reply::Int(i64::from(call.session.0)),
        Reply::bulk("mode"),
        Reply::bulk("standalone"),
        Reply::bulk("role"),
        Reply::bulk("master"),
        Reply::bulk("modules"),
        Reply::Array(Vec::new()),
    ])
}

fn set_name(call: &mut Call<'_>, index: usize) -> Answer {
    let name = &call.args()[index];
    if !name.iter().all(u8::is_ascii_graphic) {
        return Err(Refusal::err("Client names cannot contain spaces, newlines or special characters."));
    }
    call.connection().name = name.to_vec();
    Ok(Reply::ok())
}

fn get_name(call: &mut Call<'_>) -> Answer {
    let name = &call.connection().name;
    Ok(if name.is_empty() { Reply::Nil } else { Reply::bulk(name) })
}

fn forget(call: &mut Call<'_>, answer: &str) -> Reply {
    call.state.connections.remove(&call.session);
    call.db = 0;
    Reply::Status(answer.to_owned())
}
