//! An address is shown without its password, whatever that looks like, and what is wrong with it is true.

use lockshift::connect::Server;

/// The parts of every password here: none of them may be shown.
const PARTS: [&str; 3] = ["xyzzy", "plugh", "plover"];

/// Passwords with each of the letters that have a meaning in an address, and each pair of them.
fn passwords() -> Vec<String> {
    let letters = ["", "?", "/", "#", "@", "%", ":", "&", "=", ",", "[", "]", "\\", " ", "%3F", "://"];
    let [one, two, three] = PARTS;
    let joined = |a: &str| letters.map(|b| format!("{one}{a}{two}{b}{three}"));
    letters.iter().flat_map(|letter| joined(letter)).collect()
}

/// What is shown of this address: itself, or why it is refused.
fn shown(address: &str) -> String {
    match address.parse::<Server>() {
        Ok(server) => server.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn no_password_of_any_shape_is_shown() {
    let mut wrong = Vec::new();
    for password in passwords() {
        for address in [
            format!("redis://:{password}@127.0.0.1/"),
            format!("redis://clerk:{password}@127.0.0.1:6379/2?protocol=resp3"),
            format!("rediss://:{password}@127.0.0.1:99999/"),
            format!("redis://:{password}@127.0.0.1/?cluster=true"),
            format!("redis+sentinel://:{password}@a,b:1/main"),
            format!("redis+sentinel://:{password}@a,b:1"),
            format!("redis+sentinel://a,b:1/main?sentinel_password={password}"),
            format!("redis+unix:///run/redis.sock?pass={password}"),
            format!("http://:{password}@127.0.0.1/"),
            format!(":{password}@127.0.0.1"),
            // Without a host: what is behind an @ would be one.
            format!("redis://:{}", password.replace('@', "")),
            format!("redis://clerk:{}", password.replace('@', "")),
        ] {
            let shown = shown(&address);
            if PARTS.iter().any(|part| shown.contains(part)) {
                wrong.push(format!("{address}\n  {shown}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_address_is_refused_for_what_is_wrong_with_it() {
    for (address, reason) in [
        ("", "no address"),
        (" ", "no address"),
        ("127.0.0.1:6379", "it begins with redis://"),
        ("redis://127.0.0.1:99999/", "redis://127.0.0.1:99999/ is not the address of a Redis: its port is not"),
        ("redis://:sesame?x@127.0.0.1/", "as %3F"),
    ] {
        let refusal = address.parse::<Server>().expect_err("it is malformed").to_string();
        assert!(refusal.contains(reason) && refusal.trim() == refusal, "{address:?}: {refusal:?}");
        let names_scheme = refusal.contains("it begins with");
        assert!(!(names_scheme && address.starts_with("redis://")), "it does: {refusal}");
    }
}
