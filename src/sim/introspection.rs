//! What the server says of itself: TIME, INFO, COMMAND, WAIT.

use super::call::{Answer, Call, Row, count};
use super::flavour::Flavour;
use super::number;
use super::refusal::Refusal;
use super::row::Access;
use crate::wire::Reply;

pub(super) const ROWS: &[Row] = &[
    Row::speaks("time", 1, time),
    Row::speaks("info", -1, info),
    Row::session("wait", 3, wait),
    Row::speaks("command", -1, |call| Ok(Reply::Array(commands(call).map(description).collect()))).with_subcommands(),
    Row::speaks("command|count", 2, |call| Ok(count(commands(call).count()))),
    Row::speaks("command|info", -2, command_info),
    Row::speaks("command|docs", -2, command_docs),
];

/// Seconds and microseconds of the server's clock.
fn time(call: &mut Call<'_>) -> Answer {
    const NANOS_PER_SEC: i64 = 1_000_000_000;
    let micros = call.now.as_nanos().rem_euclid(NANOS_PER_SEC) / 1000;
    Ok(Reply::Array(vec![Reply::bulk(call.now.as_secs().to_string()), Reply::bulk(micros.to_string())]))
}

/// The sections that clients look at, whichever are asked for.
fn info(call: &mut Call<'_>) -> Answer {
    let flavour = call.state.flavour;
    let names = match flavour {
        Flavour::Redis70 | Flavour::Redis84 => format!("redis_version:{}\r\nredis_mode:standalone", flavour.version()),
        Flavour::Valkey9 => format!(
            "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:{}\r\nserver_mode:standalone",
            flavour.version()
        ),
    };
    Ok(Reply::bulk(format!("# Server\r\n{names}\r\n\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n")))
}

/// There is no replica that could confirm anything, and no client that could wait.
fn wait(call: &mut Call<'_>) -> Answer {
    call.integer(0)?;
    match number::integer(&call.args()[1]) {
        None => Err(Refusal::err("timeout is not an integer or out of range")),
        Some(..0) => Err(Refusal::err("timeout is negative")),
        Some(0..) => Ok(Reply::Int(0)),
    }
}

fn command_info(call: &mut Call<'_>) -> Answer {
    let flavour = call.state.flavour;
    let found = match &call.args()[1..] {
        [] => commands(call).map(description).collect(),
        names => names.iter().map(|name| call.table.named(name, flavour).map_or(Reply::Nil, description)).collect(),
    };
    Ok(Reply::Array(found))
}

/// Names and descriptions by turns, without those that are not known. Of all that a real server tells, the arguments that
/// tell one server from another.
fn command_docs(call: &mut Call<'_>) -> Answer {
    let flavour = call.state.flavour;
    let rows: Vec<_> = match &call.args()[1..] {
        [] => commands(call).collect(),
        names => names.iter().filter_map(|name| call.table.named(name, flavour)).collect(),
    };
    let if_equal = || Reply::Array(["name", "comparison-value", "token", "IFEQ"].map(Reply::bulk).into());
    let docs = |row: &Row| {
        let arguments = (row.name == "set" && flavour.sets_if_equal()).then(if_equal);
        let arguments = Reply::Array(arguments.into_iter().collect());
        [Reply::bulk(row.name), Reply::Array(vec![Reply::bulk("arguments"), arguments])]
    };
    Ok(Reply::Array(rows.into_iter().flat_map(docs).collect()))
}

fn commands(call: &Call<'_>) -> impl Iterator<Item = &'static Row> {
    call.table.rows(call.state.flavour).filter(|row| !row.name.contains('|'))
}

/// Name, arity, flags, and where the keys are; what follows in a real server is left empty.
fn description(row: &Row) -> Reply {
    let (flag, first_key) = match row.access {
        Access::Reads => (Some("readonly"), 1),
        Access::Writes => (Some("write"), 1),
        Access::Neither => (None, 0),
    };
    let flags = [flag, (!row.in_scripts).then_some("noscript")].into_iter().flatten();
    let nothing = || Reply::Array(Vec::new());
    Reply::Array(vec![
        Reply::bulk(row.name),
        Reply::Int(i64::from(row.arity)),
        Reply::Array(flags.map(|flag| Reply::Status(flag.to_owned())).collect()),
        Reply::Int(first_key),
        Reply::Int(first_key),
        Reply::Int(first_key),
        nothing(),
        nothing(),
        nothing(),
        nothing(),
    ])
}
