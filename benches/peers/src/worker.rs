//! One library in a process of its own, which does what the lines on its standard input ask for: `cycles TASKS COUNT`,
//! `contend KEY CLIENTS LENGTH_MS HOLD_MS READS`. It answers with one line of numbers each: the
//! nanoseconds; acquisitions, nanoseconds held, median and 99th percentile of the waits. `-` means that
//! the library has nothing of the kind. The workers in other languages answer the same.

use std::fmt::Write as _;
use std::io::{BufRead, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lockshift::connect::Server;
use lockshift::driver::aio::ReleaseListener;
use lockshift::driver::{Attempt, Wait};
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client};
use tokio::runtime::Runtime;

use crate::libraries::{
    Bare, BareBlocking, Distkit, DistributedLockRedis, Kind, Locks, Lockshift, LockshiftBlocking, Redlock, Rslock,
    queue,
};
use crate::library::{Contended, Library, Load, contend, cycles};

/// The libraries of this language, by the names under which they run.
pub(crate) const NAMES: [&str; 15] = [
    "bare-blocking",
    "lockshift-blocking",
    "redlock-rs",
    "bare",
    "bare-nodelay",
    "lockshift-token",
    "lockshift-batching",
    "lockshift-locks",
    "rslock",
    "distkit",
    "distributed-lock-redis",
    "lockshift-notified",
    "lockshift-fair",
    "lockshift-legacy",
    "lockshift-bridge",
];

/// Serves as this library until standard input ends.
pub(crate) fn serve(name: &str, port: u16) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(2000)
        .build()
        .expect("the machine has threads");
    let url = format!("redis://127.0.0.1:{port}/");
    let client = Client::open(url.as_str()).expect("it is well formed");
    let kind = match name {
        "bare-blocking" => return answer(&runtime, BareBlocking(client)),
        "lockshift-blocking" => return answer(&runtime, LockshiftBlocking(client)),
        "redlock-rs" => {
            return answer(&runtime, Redlock(Box::leak(Box::new(redlock::RedLock::new(vec![url.as_str()])))));
        }
        "bare" => return answer(&runtime, Bare(runtime.block_on(connected(&client)))),
        "bare-nodelay" => return answer(&runtime, Bare(runtime.block_on(connected(&at_once(&client))))),
        "lockshift-locks" => {
            let locks = runtime.block_on(lockshift::aio::Locks::connect(&url));
            return answer(&runtime, Locks(locks.expect("the server replies")));
        }
        "lockshift-batching" => {
            let server: Server = url.parse().expect("it is well formed");
            let opened = runtime.block_on(server.connect_async());
            let connection = opened.expect("the server accepts connections").batching();
            return answer(
                &runtime,
                Lockshift { kind: Kind::Token, connection, listener: ReleaseListener::new(client) },
            );
        }
        "rslock" => return answer(&runtime, Rslock(rslock::LockManager::new(vec![url]))),
        "distkit" => {
            let manager = runtime.block_on(client.get_connection_manager());
            return answer(&runtime, Distkit(manager.expect("the server replies")));
        }
        "distributed-lock-redis" => {
            let provider = runtime.block_on(distributed_lock_redis::RedisLockProvider::new(url));
            return answer(&runtime, DistributedLockRedis(provider.expect("the server replies")));
        }
        "lockshift-token" => Kind::Token,
        "lockshift-notified" => Kind::Notified,
        "lockshift-fair" => Kind::Fair,
        "lockshift-legacy" => Kind::Legacy,
        "lockshift-bridge" => Kind::Bridge,
        other => panic!("no library is called {other}"),
    };
    let connection = runtime.block_on(connected(&client));
    answer(&runtime, Lockshift { kind, connection, listener: ReleaseListener::new(client) });
}

/// The same client with TCP_NODELAY, which nearly all others set, and the entry point of this project too. The `redis` crate
/// leaves it off: the kernel keeps what follows a command until the server has acknowledged that one, and sends it together.
fn at_once(client: &Client) -> Client {
    let settings = TcpSettings::default().set_nodelay(true);
    Client::open(client.get_connection_info().clone().set_tcp_settings(settings)).expect("it was well formed before")
}

/// A connection that waits as long as a busy machine takes.
async fn connected(client: &Client) -> redis::aio::MultiplexedConnection {
    let patient = AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(60)));
    client.get_multiplexed_async_connection_with_config(&patient).await.expect("the server accepts connections")
}

fn answer<L: Library>(runtime: &Runtime, library: L) {
    let library = Arc::new(library);
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("it is text");
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words.as_slice() {
            ["cycles", tasks, count] => {
                let taken = runtime.block_on(cycles(Arc::clone(&library), number(tasks), number(count)));
                taken.map(|taken| taken.as_nanos().to_string())
            }
            ["contend", key, clients, length, hold, reads] => {
                let load = Load {
                    key: (*key).to_owned(),
                    clients: number(clients),
                    length: Duration::from_millis(number(length)),
                    hold: Duration::from_millis(number(hold)),
                    reads: *reads == "reads",
                };
                runtime.block_on(contend(Arc::clone(&library), load)).map(described)
            }
            other => panic!("unknown request: {other:?}"),
        };
        println!("{}", answer.unwrap_or_else(|| "-".to_owned()));
        std::io::stdout().flush().expect("the coordinator reads it");
    }
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(word: &str) -> T {
    word.parse().expect("the coordinator sends numbers")
}

fn described(contended: Contended) -> String {
    let Contended { acquisitions, held, mut waits } = contended;
    waits.sort_unstable();
    let percentile = |percent: usize| waits[(waits.len() * percent).div_ceil(100).max(1) - 1].as_nanos();
    let mut text = format!("{acquisitions} {}", held.as_nanos());
    write!(text, " {} {}", percentile(50), percentile(99)).expect("memory is written to");
    text
}

/// Waits in a fair queue with so many tasks, all of which release at once when it is their turn.
pub(crate) fn drain(port: u16, key: &str, waiters: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("the machine has threads");
    runtime.block_on(async {
        let client = Client::open(format!("redis://127.0.0.1:{port}/")).expect("it is well formed");
        let lock = queue(connected(&client).await, &ReleaseListener::new(client), key);
        println!("ready");
        let began = Instant::now();
        // This thread is woken once, by the last one, and not by each.
        let served = Arc::new(AtomicUsize::new(0));
        let (waits, mut none_waits) = tokio::sync::mpsc::channel::<()>(1);
        for _ in 0..waiters {
            let (lock, served, waits) = (lock.clone(), Arc::clone(&served), waits.clone());
            tokio::spawn(async move {
                match lock.acquire(&Wait::notified().for_at_most(Duration::from_secs(600))).await {
                    Ok(Attempt::Won(guard)) => drop(guard.release().await.expect("the server replies")),
                    other => panic!("{other:?}"),
                }
                served.fetch_add(1, Ordering::Relaxed);
                drop(waits);
            });
        }
        drop(waits);
        none_waits.recv().await;
        assert_eq!(served.load(Ordering::Relaxed), waiters);
        println!("{}", began.elapsed().as_nanos());
    });
}
