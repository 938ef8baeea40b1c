//! Addresses as they are typed: what they name, and how they are shown without their passwords.

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

const DEFAULT_SENTINEL_PORT: u16 = 26379;

/// Reads one address.
pub(super) fn named(typed: &str) -> Result<Named, InvalidAddress> {
    for (prefix, scheme) in [("redis+sentinel://", "redis"), ("rediss+sentinel://", "rediss")] {
        if let Some(rest) = typed.strip_prefix(prefix) {
            return by_sentinel(typed, scheme, rest);
        }
    }
    let shown = without_secrets(typed);
    let Some(url) = redis::parse_redis_url(typed) else {
        return Err(InvalidAddress::new(format_args!(
            "{shown} is not the address of a Redis: it begins with redis://, rediss://, redis+unix:// or redis+sentinel://"
        )));
    };
    let of_cluster = url.query_pairs().any(|(name, value)| name == "cluster" && value == "true");
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

fn refused(typed: &str, error: &RedisError) -> InvalidAddress {
    InvalidAddress::new(format_args!("{} is not the address of a Redis: {error}", without_secrets(typed)))
}

/// Splits what was typed into addresses: at every comma that a scheme follows. The others are between sentinels.
pub(super) fn split(typed: &str) -> Vec<&str> {
    let mut addresses = Vec::new();
    let mut begin = 0;
    for (at, _) in typed.match_indices(',') {
        let rest = &typed[at + 1..];
        let of_scheme = |letter: char| letter.is_ascii_alphanumeric() || letter == '+';
        if rest.trim_start_matches(of_scheme).starts_with("://") {
            addresses.push(&typed[begin..at]);
            begin = at + 1;
        }
    }
    addresses.push(&typed[begin..]);
    addresses
}

/// An address without what is before the host or behind a question mark, where passwords are. It may be malformed.
fn without_secrets(typed: &str) -> String {
    let bare = typed.split('?').next().unwrap_or_default();
    match (bare.split_once("://"), bare.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://***@{host}"),
        (None, Some((_, host))) => format!("***@{host}"),
        (_, None) => bare.to_owned(),
    }
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
        ];
        for (typed, shown) in table {
            assert_eq!(without_secrets(typed), shown, "{typed}");
        }
    }

    #[test]
    fn a_comma_separates_addresses_only_before_a_scheme() {
        let table: [(&str, &[&str]); 4] = [
            ("redis://a", &["redis://a"]),
            ("redis://a,redis://b:1/0", &["redis://a", "redis://b:1/0"]),
            ("redis+sentinel://a,b:1,c/main/2", &["redis+sentinel://a,b:1,c/main/2"]),
            ("rediss://:a,b@c,redis+unix:///d", &["rediss://:a,b@c", "redis+unix:///d"]),
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
    fn an_address_without_the_masters_name_is_refused() {
        for typed in ["redis+sentinel://a:26379", "redis+sentinel://:sesame@a,b/"] {
            let refusal = named(typed).err().expect("no master is named").to_string();
            assert!(refusal.contains("names no master") && !refusal.contains("sesame"), "{refusal}");
        }
    }
}
