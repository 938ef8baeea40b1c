//! A resource that refuses a holder once a later holder has written.
//!
//! A holder that is paused past its lease does not know that it has lost the lock: it goes on, and writes. No lock can
//! prevent that; the resource can. Each acquisition comes with a higher number, each write brings the number along, and
//! a number below one that was seen is turned away. Here the resource is another key, guarded by a script of three
//! lines; a row with `UPDATE ... WHERE fence <= ?` does the same.
//!
//! `REDIS_URL=redis://127.0.0.1/ cargo run --example fenced`

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use lockshift::connect::{Server, blocking::Connection};
use lockshift::driver::blocking::{Guard, Lock};
use lockshift::driver::{Answer, Attempt};
use lockshift::lock::{Lease, Released};
use lockshift::modern::FencedTokenLock;
use redis::Script;

/// KEYS[1] the resource, a hash; ARGV[1] fence, ARGV[2] content: writes unless a higher fence has written. 1 yes, 0 no.
const WRITE: &str = r#"
if tonumber(redis.call("HGET", KEYS[1], "fence") or 0) > tonumber(ARGV[1]) then return 0 end
redis.call("HSET", KEYS[1], "fence", ARGV[1], "content", ARGV[2])
return 1
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1/".into());
    tell(&url.parse()?, &mut std::io::stdout())
}

/// Two holders, of whom the first does not know that it has lost the lock.
pub(crate) fn tell(server: &Server, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    redis::cmd("DEL").arg("example:report").exec(&mut server.connect()?)?;
    let first = acquire(server)?;
    // The first holder hangs. What its lease does in time is done here at once: the server forgets it.
    redis::cmd("DEL").arg("example:fenced").exec(&mut server.connect()?)?;
    let second = acquire(server)?;

    for (who, guard) in [("second", &second), ("first", &first)] {
        let accepted = write(server, guard, who)?;
        writeln!(
            out,
            "the {who} holder writes: {}",
            if accepted { "accepted" } else { "refused, its fence is stale" }
        )?;
    }
    let author: String = redis::cmd("HGET").arg("example:report").arg("content").query(&mut server.connect()?)?;
    writeln!(out, "the report is by the {author} holder")?;
    for (who, guard) in [("first", first), ("second", second)] {
        let had_it = matches!(guard.release()?, Answer::Known(Released::Freed));
        writeln!(
            out,
            "the {who} holder gives the lock back: {}",
            if had_it { "it was its own" } else { "it had lost it" }
        )?;
    }
    Ok(())
}

fn acquire(server: &Server) -> Result<Guard<Connection>, Box<dyn Error>> {
    let lease = Lease::new(Duration::from_secs(30))?;
    let lock = Lock::new(server.connect()?, FencedTokenLock::new("example:fenced".into(), lease));
    match lock.try_acquire()? {
        Attempt::Won(guard) => Ok(guard),
        other => Err(format!("the lock is not to be had: {other:?}").into()),
    }
}

/// Writes with the number of this acquisition: whether the resource accepted it.
fn write(server: &Server, guard: &Guard<Connection>, content: &str) -> Result<bool, Box<dyn Error>> {
    let fence = guard.hold().fence.ok_or("a fenced lock hands out numbers")?;
    let script = Script::new(WRITE);
    let mut write = script.key("example:report");
    Ok(write.arg(fence).arg(content).invoke(&mut server.connect()?)?)
}
