//! Addresses as they are typed: what they name, and how they are shown without their passwords.

use std::borrow::Cow;

use redis::{IntoConnectionInfo, RedisError};
use thiserror::Error;

use super::node::Node;

/// An address that does not name a Redis. It is shown without its password.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct InvalidAddress(String);

impl InvalidAddress {
    pub(super) fn new(sentence: impl ToString) -> Self {
        Self(sentence.to_string())
    }
}

/// What one address names.
pub(super) enum Named {
    /// One server.
    Single(Node),
    /// One node of a cluster.
    OfCluster(Node),
    /// The master of this name, by what these sentinels say; the template holds all of it but the host.
    Master { sentinels: Vec<Node>, service: String, template: Node },
}

/// Those of the `redis` crate, and ours.
const SCHEMES: [&str; 9] =
    ["redis", "rediss", "redis+unix", "redis+sentinel", "rediss+sentinel", "unix", "valkey", "valkeys", "valkey+unix"];

const DEFAULT_SENTINEL_PORT: u16 = 26379;

/// Reads one address.
pub(super) fn named(typed: &str) -> Result<Named, InvalidAddress> {
    for (prefix, scheme) in [("redis+sentinel://", "redis"), ("rediss+sentinel://", "rediss")] {
        if let Some(rest) = typed.strip_prefix(prefix) {
            return by_sentinel(typed, scheme, rest);
        }
    }
    let shown = without_secrets(typed);
    let Some(url) = redis::parse_redis_url(typed) else { return Err(malformed(typed)) };
    let known: &[&str] = if url.scheme().ends_with("unix") {
        &["db", "user", "pass", "protocol", "cluster"]
    } else {
        &["protocol", "cluster"]
    };
    only_known_parameters(typed, url.query_pairs().map(|(name, _)| name), known)?;
    let of_cluster = match url.query_pairs().find(|(name, _)| name == "cluster") {
        None => false,
        Some((_, value)) => value.parse().map_err(|_| {
            InvalidAddress::new(format_args!("{}: cluster is neither true nor false", without_secrets(typed)))
        })?,
    };
    let info = url.into_connection_info().map_err(|error| refused(typed, &error))?;
    let node = Node::new(info, shown);
    Ok(if of_cluster { Named::OfCluster(node) } else { Named::Single(node) })
}

/// `[user:password@]host[:port][,host[:port]...]/service[/db][?parameters]`, after the scheme.
fn by_sentinel(typed: &str, scheme: &str, rest: &str) -> Result<Named, InvalidAddress> {
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (login, rest) = rest.rsplit_once('@').map_or(("", rest), |(login, rest)| (login, rest));
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (service, db) = path.split_once('/').unwrap_or((path, ""));
    if service.is_empty() {
        return Err(InvalidAddress::new(format_args!(
            "{} names no master: add its name, as in redis+sentinel://host:26379/mymaster",
            without_secrets(typed)
        )));
    }
    let at = if login.is_empty() { "" } else { "@" };
    let first = hosts.split(',').next().unwrap_or_default();
    // The parameters go along: `protocol` is one that the `redis` crate knows.
    let url = format!("{scheme}://{login}{at}{first}/{db}?{parameters}");
    let Some(url) = redis::parse_redis_url(&url) else {
        return Err(InvalidAddress::new(format_args!("{} is not the address of a sentinel", without_secrets(typed))));
    };
    let known = ["protocol", "sentinel_username", "sentinel_password"];
    only_known_parameters(typed, url.query_pairs().map(|(name, _)| name), &known)?;
    let parameter =
        |wanted: &str| url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned());
    let (user, password) = (parameter("sentinel_username"), parameter("sentinel_password"));
    let template = url.into_connection_info().map_err(|error| refused(typed, &error))?;
    let mut sentinels = Vec::new();
    for host in hosts.split(',') {
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let port = if has_port { String::new() } else { format!(":{DEFAULT_SENTINEL_PORT}") };
        let shown = format!("{scheme}://{host}{port}");
        let info = shown.as_str().into_connection_info().map_err(|error| refused(typed, &error))?;
        let mut settings = info.redis_settings().clone();
        if let Some(user) = &user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &password {
            settings = settings.set_password(password);
        }
        sentinels.push(Node::new(info.set_redis_settings(settings), shown));
    }
    let template = Node::new(template, without_secrets(typed));
    Ok(Named::Master { sentinels, service: service.to_owned(), template })
}

/// Refuses parameters that would be ignored: another client may understand `?db=4`, and look into another database then.
fn only_known_parameters<'a>(
    typed: &str,
    mut names: impl Iterator<Item = Cow<'a, str>>,
    known: &[&str],
) -> Result<(), InvalidAddress> {
    let Some(place) = names.position(|name| !known.contains(&&*name)) else { return Ok(()) };
    // Its name is not shown: it is a part of a password, where a question mark or an ampersand in that was not quoted.
    Err(InvalidAddress::new(format_args!(
        "{}: parameter {} behind its question mark is not understood, but only {}{}",
        without_secrets(typed),
        place + 1,
        known.join(", "),
        if known.contains(&"db") {
            ""
        } else {
            "; the database stands behind the host, as in redis://127.0.0.1:6379/2"
        }
    )))
}

fn refused(typed: &str, error: &RedisError) -> InvalidAddress {
    InvalidAddress::new(format_args!("{} is not the address of a Redis: {error}", without_secrets(typed)))
}

/// Why this is no URL of a Redis.
fn malformed(typed: &str) -> InvalidAddress {
    if typed.trim().is_empty() {
        return InvalidAddress::new("no address of a Redis is given");
    }
    let (scheme, rest) = typed.split_once("://").unwrap_or(("", typed));
    let reason = if !is_known(scheme) {
        "it begins with redis://, rediss://, redis+unix:// or redis+sentinel://"
    } else if has_impossible_port(rest.rsplit('@').next().unwrap_or_default()) {
        "its port is not between 0 and 65535"
    } else {
        "behind its scheme comes [user:password@]host[:port]; in a password write ? as %3F, / as %2F, # as %23 and @ as %40"
    };
    InvalidAddress::new(format_args!("{} is not the address of a Redis: {reason}", without_secrets(typed)))
}

fn is_known(scheme: &str) -> bool {
    SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// Whether this begins as an address does. Looks no further than the longest scheme.
fn begins_with_scheme(typed: &str) -> bool {
    SCHEMES.iter().any(|known| {
        typed
            .split_at_checked(known.len())
            .is_some_and(|(scheme, rest)| scheme.eq_ignore_ascii_case(known) && rest.starts_with("://"))
    })
}

/// Splits what was typed into addresses: at every comma that a scheme follows. The others are between sentinels, or within
/// passwords.
pub(super) fn split(typed: &str) -> Vec<&str> {
    let mut addresses = Vec::new();
    let mut begin = 0;
    for (at, _) in typed.match_indices(',') {
        let rest = &typed[at + 1..];
        if begins_with_scheme(rest) {
            addresses.push(&typed[begin..at]);
            begin = at + 1;
        }
    }
    addresses.push(&typed[begin..]);
    addresses
}

/// An address without what is before the host or behind a question mark, where passwords are. It may be malformed: what could
/// be a part of a password is not shown.
fn without_secrets(typed: &str) -> String {
    let of_scheme = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let (scheme, rest) = match typed.split_once("://") {
        Some((scheme, rest)) if scheme.chars().all(of_scheme) => (format!("{scheme}://"), rest),
        _ => (String::new(), typed),
    };
    let without_parameters = |text: &str| text.split(['?', '#']).next().unwrap_or_default().to_owned();
    let bare = without_parameters(rest);
    let is_path = scheme.ends_with("unix://") && rest.starts_with('/');
    match rest.rsplit_once('@') {
        _ if is_path => format!("{scheme}{bare}"),
        // It is in the parameters, or the question mark is in the password.
        Some((login, _)) if login.contains('?') => format!("{scheme}***"),
        Some((_, host)) => format!("{scheme}***@{}", without_parameters(host)),
        // Where the host was forgotten, there may be a login in its place.
        None if !authority(&bare).split(',').all(is_plain_host) => format!("{scheme}***"),
        None => format!("{scheme}{bare}"),
    }
}

/// Where the host and the port are, in what is behind the scheme and the login.
fn authority(rest: &str) -> &str {
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// A host and what is behind its colon, if it has one.
fn host_and_port(host: &str) -> (&str, Option<&str>) {
    // An address of version 6 has colons, too.
    let bracket = host.rfind(']').filter(|_| host.starts_with('['));
    let name_ends = bracket.map_or(0, |bracket| bracket + 1);
    match host[name_ends..].split_once(':') {
        Some((rest, port)) => (&host[..name_ends + rest.len()], Some(port)),
        None => (host, None),
    }
}

fn is_number(port: &str) -> bool {
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether nothing in it can be a password.
fn is_plain_host(host: &str) -> bool {
    let (name, port) = host_and_port(host);
    port.is_none_or(|port| !name.is_empty() && is_number(port))
}

fn has_impossible_port(rest: &str) -> bool {
    let (_, port) = host_and_port(authority(rest));
    port.is_some_and(|port| is_number(port) && port.parse::<u16>().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_their_secrets() {
        let table = [
            ("redis://127.0.0.1:6379/2", "redis://127.0.0.1:6379/2"),
            ("rediss://default:se@same@redis.example:6380/0?protocol=resp3", "rediss://***@redis.example:6380/0"),
            ("redis+unix:///run/redis.sock?pass=sesame", "redis+unix:///run/redis.sock"),
            ("redis+sentinel://:sesame@a,b/main?sentinel_password=x", "redis+sentinel://***@a,b/main"),
            ("sesame@redis.example", "***@redis.example"),
            ("http://:sesame@redis.example", "http://***@redis.example"),
            ("redis://:sesame?x@redis.example/", "redis://***"),
            ("redis://:sesame#x/y@redis.example/#z", "redis://***@redis.example/"),
            ("redis+unix:///run/redis.sock?pass=se@same", "redis+unix:///run/redis.sock"),
            ("redis://[::1]:6379/2", "redis://[::1]:6379/2"),
            ("redis://:sesame", "redis://***"),
            ("app:se://same@redis.example", "***@redis.example"),
        ];
        for (typed, shown) in table {
            assert_eq!(without_secrets(typed), shown, "{typed}");
        }
    }

    #[test]
    fn a_comma_separates_addresses_only_before_a_scheme() {
        let table: [(&str, &[&str]); 5] = [
            ("redis://a", &["redis://a"]),
            ("redis://a,redis://b:1/0", &["redis://a", "redis://b:1/0"]),
            ("redis+sentinel://a,b:1,c/main/2", &["redis+sentinel://a,b:1,c/main/2"]),
            ("rediss://:a,b@c,redis+unix:///d", &["rediss://:a,b@c", "redis+unix:///d"]),
            ("redis://:a,b://c@d", &["redis://:a,b://c@d"]),
        ];
        for (typed, addresses) in table {
            assert_eq!(split(typed), addresses, "{typed}");
        }
    }

    #[test]
    fn a_sentinel_address_names_sentinels_master_and_login() {
        let typed = "redis+sentinel://app:se%40same@a,b:5000,[::1]/main/3?sentinel_password=other&protocol=resp3";
        let Ok(Named::Master { sentinels, service, template }) = named(typed) else { panic!("it is well formed") };
        let shown: Vec<_> = sentinels.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["redis://a:26379", "redis://b:5000", "redis://[::1]:26379"]);
        assert_eq!(service, "main");
        let master = template.info().redis_settings();
        assert_eq!((master.username(), master.password(), master.db()), (Some("app"), Some("se@same"), 3));
        assert_eq!(master.protocol(), redis::ProtocolVersion::RESP3);
        assert!(sentinels.iter().all(|sentinel| sentinel.info().redis_settings().password() == Some("other")));
        assert!(sentinels.iter().all(|sentinel| sentinel.info().redis_settings().username().is_none()));
    }

    #[test]
    fn parameters_that_would_be_ignored_are_refused() {
        let refusal = |typed: &str| named(typed).err().map(|refusal| refusal.to_string()).unwrap_or_default();
        for typed in [
            "redis://a?protocol=resp3&cluster=true",
            "redis://a?cluster=false",
            "redis+unix:///run/redis.sock?db=2&user=app&pass=sesame",
            "redis+sentinel://a/main?sentinel_username=app&sentinel_password=sesame&protocol=2",
        ] {
            assert_eq!(refusal(typed), "", "{typed}");
        }
        for (typed, named) in [
            ("redis://a?db=4", "parameter 1 behind its question mark is not understood"),
            ("rediss://a?protocol=3&ssl_cert_reqs=none", "parameter 2 behind its question mark"),
            ("redis+sentinel://a/main?db=4", "parameter 1 behind its question mark"),
            ("redis://a?cluster=TRUE", "neither true nor false"),
            ("redis://a?cluster=1", "neither true nor false"),
        ] {
            assert!(refusal(typed).contains(named), "{typed}: {}", refusal(typed));
        }
        let secret = refusal("redis://app?sesame@host");
        assert!(!secret.is_empty() && !secret.contains("sesame"), "{secret}");
    }

    #[test]
    fn an_address_without_the_masters_name_is_refused() {
        for typed in ["redis+sentinel://a:26379", "redis+sentinel://:sesame@a,b/"] {
            let refusal = named(typed).err().expect("no master is named").to_string();
            assert!(refusal.contains("names no master") && !refusal.contains("sesame"), "{refusal}");
        }
    }
}
