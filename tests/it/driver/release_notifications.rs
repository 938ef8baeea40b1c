//! Waiting for the message that a release is: which waiters are woken, which are not, and that none sleeps through it.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, scope};
use std::time::Duration;

#[cfg(feature = "tokio")]
use lockshift::driver::aio;
use lockshift::driver::blocking::{Lock, ReleaseListener};
use lockshift::driver::{Answer, Attempt, Error, Wait};
use lockshift::lock::{Lease, Released};
use lockshift::modern::{MultiKeyLock, Publish, TokenLock};
use lockshift::wire::Key;
use redis::{Connection, cmd};

use super::losing_replies::{Break, Plan};
use super::world::{AN_HOUR, BEFORE_A_LOOK, Threads, World, in_both_worlds, ms, token, token_on};
use crate::monitor::{Line, Monitor, Source};
use crate::patience::{PATIENCE, now, pause, until};
use crate::proxy::Proxy;
use crate::server::Server;

in_both_worlds! {
    a_release_wakes_the_waiter,
    a_release_is_announced_on_the_channel_of_a_shard,
    a_release_wakes_one_of_many_in_the_order_in_which_they_came,
    waiters_of_one_program_take_turns_before_their_first_attempt,
    clients_that_begin_together_send_few_attempts,
    a_client_that_releases_after_a_long_hold_comes_after_those_that_wait,
    a_waiter_makes_its_first_try_whatever_its_limit,
    a_holder_that_announces_nothing_delays_no_newcomer,
    a_waiter_for_several_keys_delays_no_newcomer,
    a_waiter_that_another_key_keeps_waiting_passes_its_wake_up_on,
    a_waiter_whose_attempt_ends_unknown_passes_its_wake_up_on,
    a_listener_whose_peer_is_dead_is_given_up_and_listens_anew,
    each_attempt_of_a_wait_has_a_token_of_its_own,
    a_listening_waiter_wins_when_the_lease_of_a_dead_holder_has_expired,
    a_waiter_whose_listener_was_disconnected_is_woken_and_listens_anew,
    a_listening_waiter_sends_nothing_until_the_release,
    a_listener_keeps_its_connection_to_a_quiet_server,
    a_waiter_listens_after_another_channel_was_left,
    a_waiter_beside_others_listens_at_once,
    a_listener_connects_anew_after_longer_and_longer_pauses,
    a_listener_that_ended_without_waiters_is_started_again,
    a_user_that_may_not_subscribe_polls,
    a_waiter_without_a_listener_polls,
    a_wait_that_polls_does_not_listen,
    a_lock_that_announces_nothing_is_polled,
    one_connection_serves_all_waiters_and_closes_after_the_last,
    a_key_that_an_operator_deletes_is_noticed_within_seconds,
    a_try_that_makes_sure_that_no_release_was_missed_is_not_counted,
}

fn announced() -> TokenLock {
    token(AN_HOUR).announced(Publish::Everywhere)
}

/// A lock on `k` and another key.
fn both_keys() -> MultiKeyLock {
    let keys = ["k", "{k}:2"].map(Key::from);
    MultiKeyLock::new(keys, Lease::new(AN_HOUR).unwrap()).unwrap().announced(Publish::Everywhere)
}

/// The first word of each command that a client, no script, sent.
fn names(lines: &[Line]) -> Vec<String> {
    let sent = lines.iter().filter(|line| matches!(line.source, Source::Client(_)));
    sent.map(|line| String::from_utf8_lossy(&line.words[0]).into_owned()).collect()
}

fn count(lines: &[Line], name: &str) -> usize {
    names(lines).iter().filter(|spoken_words| *spoken_words == name).count()
}

/// How many listen on the channel of `k`.
fn listeners(operator: &mut Connection, sharded: bool) -> usize {
    let numsub = if sharded { "SHARDNUMSUB" } else { "NUMSUB" };
    let (_, listeners): (String, usize) = cmd("PUBSUB").arg(numsub).arg("{k}:released").query(operator).unwrap();
    listeners
}

/// Waits until a client listens, and no client sends anything more.
fn until_quiet(server: &Server, monitor: &mut Monitor) {
    let mut operator = server.connect();
    until("a client listens", || (listeners(&mut operator, false) == 1).then_some(()));
    until("all waiters have tried once more", || {
        monitor.skip();
        pause(ms(60));
        monitor.take().is_empty().then_some(())
    });
}

/// Waits until another attempt was made: a waiter puts its first one off where others wait.
fn until_tried(monitor: &mut Monitor) {
    let mut sent = Vec::new();
    until("it has tried", || {
        sent.extend(monitor.take());
        (count(&sent, "SET") > 0).then_some(())
    });
}

fn a_release_wakes_the_waiter<W: World>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let [alice, bob] = [(); 2].map(|()| W::open(&server, announced()).notified_by(&releases));
    let guard = alice.win();
    let mut monitor = Monitor::on(&server);
    scope(|scope| {
        let waiting = scope.spawn(move || matches!(bob.acquire(&Wait::notified()), Ok(Attempt::Won(_))));
        until_quiet(&server, &mut monitor);
        let began = now();
        assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));
        assert!(waiting.join().unwrap());
        assert!(began.elapsed() < BEFORE_A_LOOK, "{:?}", began.elapsed());
    });
    assert_eq!(count(&monitor.take(), "SET"), 1, "no try but the one that wins");
}

fn a_release_is_announced_on_the_channel_of_a_shard<W: World>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let [alice, bob] =
        [(); 2].map(|()| W::open(&server, token(AN_HOUR).announced(Publish::InSlot)).notified_by(&releases));
    let guard = alice.win();
    let mut operator = server.connect();
    scope(|scope| {
        let waiting = scope.spawn(move || matches!(bob.acquire(&Wait::notified()), Ok(Attempt::Won(_))));
        until("a client listens", || (listeners(&mut operator, true) == 1).then_some(()));
        let began = now();
        assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));
        assert!(waiting.join().unwrap());
        assert!(began.elapsed() < BEFORE_A_LOOK, "{:?}", began.elapsed());
    });
}

fn a_release_wakes_one_of_many_in_the_order_in_which_they_came<W: World>() {
    const MANY: usize = 5;
    let server = Server::start();
    let releases = W::releases(&server);
    let open = || W::open(&server, announced()).notified_by(&releases);
    let alice = open();
    let guard = alice.win();
    let mut monitor = Monitor::on(&server);
    let (won, winners) = channel();
    scope(|scope| {
        for number in 0..MANY {
            let (world, won) = (open(), won.clone());
            scope.spawn(move || match world.acquire(&Wait::notified()) {
                Ok(Attempt::Won(guard)) => won.send((number, world, guard)).unwrap(),
                other => panic!("it waits for as long as it takes: {other:?}"),
            });
            until_tried(&mut monitor);
            until_quiet(&server, &mut monitor);
        }
        drop(alice.release(guard));
        let mut worlds = Vec::new();
        for expected in 0..MANY {
            let (number, world, guard) = winners.recv_timeout(PATIENCE).unwrap();
            assert_eq!(number, expected);
            assert_eq!(count(&monitor.take(), "SET"), 1, "the others sleep on");
            drop(world.release(guard));
            worlds.push(world);
        }
    });
}

/// So many clients of one program acquire so often, and hold for so long: which of them, in order.
fn turns_of<W: World>(server: &Server, clients: usize, times: usize, length: Duration) -> Vec<usize> {
    let releases = W::releases(server);
    let worlds: Vec<W> = (0..clients).map(|_| W::open(server, announced()).notified_by(&releases)).collect();
    let turns = Mutex::new(Vec::new());
    scope(|scope| {
        let acquire_in_turn = |(number, world): (usize, W)| {
            let turns = &turns;
            scope.spawn(move || {
                for _ in 0..times {
                    let Ok(Attempt::Won(guard)) = world.acquire(&Wait::notified()) else {
                        panic!("it waits for its turn")
                    };
                    turns.lock().unwrap().push(number);
                    pause(length);
                    assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Freed))));
                }
                world
            })
        };
        let clients: Vec<_> = worlds.into_iter().enumerate().map(acquire_in_turn).collect();
        // The listener may be a task of any of them, and would end with it.
        let _worlds: Vec<W> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    });
    turns.into_inner().unwrap()
}

/// Each acquires again and again, beside the others, and hardly any attempt is refused.
fn waiters_of_one_program_take_turns_before_their_first_attempt<W: World>() {
    const CLIENTS: usize = 8;
    const TIMES: usize = 25;
    let server = Server::start();
    let mut monitor = Monitor::on(&server);
    let turns = turns_of::<W>(&server, CLIENTS, TIMES, ms(2));
    let attempts = count(&monitor.take(), "SET");
    assert!(attempts < CLIENTS * TIMES * 5 / 4, "{attempts} attempts");
    // While all of them wait, few acquire twice in the time in which each of four could once.
    let fair = turns[CLIENTS..CLIENTS * TIMES / 2]
        .windows(CLIENTS / 2)
        .filter(|turns| turns.iter().collect::<BTreeSet<_>>().len() == turns.len());
    assert!(fair.count() > CLIENTS * TIMES / 3, "{turns:?}");
}

/// Before the program has subscribed, too.
fn clients_that_begin_together_send_few_attempts<W: World>() {
    const CLIENTS: usize = 64;
    let server = Server::start();
    let mut monitor = Monitor::on(&server);
    assert_eq!(turns_of::<W>(&server, CLIENTS, 1, ms(2)).len(), CLIENTS);
    let attempts = count(&monitor.take(), "SET");
    assert!(attempts < CLIENTS * 5 / 4, "{attempts} attempts");
}

/// No attempt speaks for the waiters any more when such a hold ends.
fn a_client_that_releases_after_a_long_hold_comes_after_those_that_wait<W: World>() {
    const TIMES: usize = 8;
    let turns = turns_of::<W>(&Server::start(), 2, TIMES, ms(300));
    let again = turns[1..].windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(again <= 1, "the client that releases acquires again: {turns:?}");
}

fn a_waiter_makes_its_first_try_whatever_its_limit<W: World + 'static>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let mut monitor = Monitor::on(&server);
    let (alice, guard, bob) = alice_holds_and_bob_listens::<W>(&server, &releases, &mut monitor);
    let carol = W::open(&server, announced()).notified_by(&releases);
    for wait in [Wait::notified().for_at_most(ms(0)), Wait::notified().tries(1)] {
        assert!(matches!(carol.acquire(&wait), Ok(Attempt::Held(_))));
        assert_eq!(count(&monitor.take(), "SET"), 1, "{wait:?}");
    }
    drop((alice.release(guard), bob));
}

/// Bob misses the release, as he would alone. Carol finds the lock free, though Bob has waited for longer.
fn a_holder_that_announces_nothing_delays_no_newcomer<W: World + 'static>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let silent = W::open(&server, token(AN_HOUR));
    let [bob, carol] = [(); 2].map(|()| W::open(&server, announced()).notified_by(&releases));
    let guard = silent.win();
    let mut monitor = Monitor::on(&server);
    let bob = wait_for_it(bob);
    until_quiet(&server, &mut monitor);
    assert!(matches!(silent.release(guard), Ok(Answer::Known(Released::Freed))));
    let (carol, won) = wait_for_it(carol).recv_timeout(PATIENCE).expect("she tries, though no message wakes her");
    let Ok(Attempt::Won(guard)) = won else { panic!("it is free: {won:?}") };
    assert!(matches!(carol.release(guard), Ok(Answer::Known(Released::Freed))));
    assert!(matches!(bob.recv_timeout(PATIENCE).unwrap().1, Ok(Attempt::Won(_))), "her release wakes him");
}

/// It waits on the channel of the first key, for another one. By turns each newcomer would be behind it.
fn a_waiter_for_several_keys_delays_no_newcomer<W: World + 'static>() {
    const NEWCOMERS: u32 = 20;
    let server = Server::start();
    let releases = W::releases(&server);
    let other = W::open(&server, token_on("{k}:2", AN_HOUR).announced(Publish::Everywhere));
    let guard = other.win();
    let mut monitor = Monitor::on(&server);
    let waiting = wait_for_it(W::open(&server, both_keys()).notified_by(&releases));
    until_quiet(&server, &mut monitor);
    let began = now();
    let newcomer = W::open(&server, announced()).notified_by(&releases);
    for _ in 0..NEWCOMERS {
        let Ok(Attempt::Won(guard)) = newcomer.acquire(&Wait::notified()) else { panic!("it is free") };
        assert!(matches!(newcomer.release(guard), Ok(Answer::Known(Released::Freed))));
    }
    let elapsed = began.elapsed();
    drop((other.release(guard), waiting));
    assert!(elapsed < NEWCOMERS * ms(250) / 2, "{elapsed:?}");
}

/// A release wakes it, as the first that waits, and is of no use to it. Bob would sleep until the lease ends.
fn a_waiter_that_another_key_keeps_waiting_passes_its_wake_up_on<W: World + 'static>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let open = |lock: TokenLock| W::open(&server, lock.announced(Publish::Everywhere)).notified_by(&releases);
    let (alice, other) = (open(token(AN_HOUR)), open(token_on("{k}:2", AN_HOUR)));
    let (guard, kept) = (alice.win(), other.win());
    let mut monitor = Monitor::on(&server);
    let both = wait_for_it(W::open(&server, both_keys()).notified_by(&releases));
    until_quiet(&server, &mut monitor);
    let bob = wait_for_it(open(token(AN_HOUR)));
    until_quiet(&server, &mut monitor);
    assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));
    let (bob, won) = bob.recv_timeout(BEFORE_A_LOOK).expect("the wake-up reaches him");
    let Ok(Attempt::Won(guard)) = won else { panic!("it is free: {won:?}") };
    drop((bob.release(guard), other.release(kept), both));
}

/// A world, and what its wait ended with.
type Ended<W> = (W, Result<Attempt<<W as World>::Guard>, Error>);

/// Waits in a thread of its own, which is not joined: a test that fails does not wait for it.
fn wait_for_it<W: World + 'static>(world: W) -> Receiver<Ended<W>> {
    let (ended, ends) = channel();
    thread::spawn(move || {
        let attempt = world.acquire(&Wait::notified());
        ended.send((world, attempt))
    });
    ends
}

/// Alice, what she holds, and how Bob's wait ends, who listens now.
fn alice_holds_and_bob_listens<W: World + 'static>(
    server: &Server,
    releases: &W::ReleaseListener,
    monitor: &mut Monitor,
) -> (W, W::Guard, Receiver<Ended<W>>) {
    let [alice, bob] = [(); 2].map(|()| W::open(server, announced()).notified_by(releases));
    let guard = alice.win();
    let bob = wait_for_it(bob);
    until_quiet(server, monitor);
    (alice, guard, bob)
}

fn a_waiter_whose_attempt_ends_unknown_passes_its_wake_up_on<W: World + 'static>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let plan = Plan::default();
    let [alice, carol] = [(); 2].map(|()| W::open(&server, announced()).notified_by(&releases));
    let bob = W::open_lossy(&server, announced(), plan.clone()).notified_by(&releases);
    let guard = alice.win();
    let mut monitor = Monitor::on(&server);
    let bob = wait_for_it(bob);
    until_quiet(&server, &mut monitor);
    let carol = wait_for_it(carol);
    until_tried(&mut monitor);
    until_quiet(&server, &mut monitor);

    // Bob is woken, and tries again and again.
    for _ in 0..4 {
        plan.set(Break::Lost("SET"));
        plan.set(Break::Lost("EVALSHA"));
    }
    assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));

    let (carol, won) = carol.recv_timeout(BEFORE_A_LOOK).expect("the key is free, and Carol must be notified");
    let Ok(Attempt::Won(guard)) = won else { panic!("it is free, but: {won:?}") };
    assert!(matches!(carol.release(guard), Ok(Answer::Known(Released::Freed))));
    let (_bob, won) = bob.recv_timeout(PATIENCE).expect("Bob goes on waiting");
    assert!(matches!(won, Ok(Attempt::Won(_))), "{won:?}");
}

fn a_listener_whose_peer_is_dead_is_given_up_and_listens_anew<W: World + 'static>() {
    let server = Server::start();
    let proxy = Proxy::before(&server);
    let releases = W::listener(proxy.client());
    let mut monitor = Monitor::on(&server);
    let (alice, guard, bob) = alice_holds_and_bob_listens::<W>(&server, &releases, &mut monitor);

    proxy.hold_back();
    assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));
    let (bob, won) = bob.recv_timeout(PATIENCE).expect("a waiter without messages polls");
    let Ok(Attempt::Won(guard)) = won else { panic!("no other client wants it: {won:?}") };

    proxy.let_through();
    let alice = wait_for_it(alice);
    until("Alice listens and polls no more", || {
        monitor.skip();
        pause(ms(1500));
        (count(&monitor.take(), "SET") == 0).then_some(())
    });
    assert!(matches!(bob.release(guard), Ok(Answer::Known(Released::Freed))));
    let (_alice, won) = alice.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(won, Ok(Attempt::Won(_))), "{won:?}");
}

/// A command of one attempt that arrives late must not delete what the next one has won.
fn each_attempt_of_a_wait_has_a_token_of_its_own<W: World>() {
    let server = Server::start();
    cmd("SET").arg("k").arg("another owner").exec(&mut server.connect()).unwrap();
    let world = W::open(&server, token(AN_HOUR));
    let mut monitor = Monitor::on(&server);
    assert!(matches!(world.acquire(&Wait::every(ms(1)).tries(5)), Ok(Attempt::Held(_))));
    let tokens: BTreeSet<_> = monitor.take().into_iter().map(|line| line.words[2].clone()).collect();
    assert_eq!(tokens.len(), 5);
}

fn a_listening_waiter_wins_when_the_lease_of_a_dead_holder_has_expired<W: World>() {
    let server = Server::start();
    let releases = W::releases(&server);
    cmd("SET").arg("k").arg("a dead owner").arg("PX").arg(300).exec(&mut server.connect()).unwrap();
    let world = W::open(&server, announced()).notified_by(&releases);
    assert!(matches!(world.acquire(&Wait::notified()), Ok(Attempt::Won(_))));
}

fn a_waiter_whose_listener_was_disconnected_is_woken_and_listens_anew<W: World>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let [alice, bob] = [(); 2].map(|()| W::open(&server, announced()).notified_by(&releases));
    let guard = alice.win();
    let mut monitor = Monitor::on(&server);
    let mut operator = server.connect();
    scope(|scope| {
        let waiting = scope.spawn(move || matches!(bob.acquire(&Wait::notified()), Ok(Attempt::Won(_))));
        until_quiet(&server, &mut monitor);
        disconnect_listener(&mut operator);
        until("it listens again", || (listeners(&mut operator, false) == 1).then_some(()));
        until_quiet(&server, &mut monitor);
        drop(alice.release(guard));
        assert!(waiting.join().unwrap());
    });
}

fn wins_by_polling<W: World>(server: &Server, releases: Option<&W::ReleaseListener>, locker: TokenLock) {
    cmd("SET").arg("k").arg("another owner").exec(&mut server.connect()).unwrap();
    let world = W::open(server, locker);
    let world = match releases {
        Some(releases) => world.notified_by(releases),
        None => world,
    };
    let mut monitor = Monitor::on(server);
    scope(|scope| {
        let waiting = scope.spawn(move || matches!(world.acquire(&Wait::notified()), Ok(Attempt::Won(_))));
        let mut tried = 0;
        until("it polls", || {
            tried += count(&monitor.take(), "SET");
            (tried > 5).then_some(())
        });
        cmd("DEL").arg("k").exec(&mut server.connect()).unwrap();
        assert!(waiting.join().unwrap());
    });
}

/// A server that sends nothing for long is asked whether it is still there.
fn a_listener_keeps_its_connection_to_a_quiet_server<W: World + 'static>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let mut monitor = Monitor::on(&server);
    let (alice, guard, bob) = alice_holds_and_bob_listens::<W>(&server, &releases, &mut monitor);
    let mut operator = server.connect();
    let listener = subscribers(&mut operator);
    until("it asks", || (count(&monitor.take(), "PING") > 0).then_some(()));
    pause(ms(100));
    assert_eq!(subscribers(&mut operator), listener);
    assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));
    assert!(matches!(bob.recv_timeout(PATIENCE).unwrap().1, Ok(Attempt::Won(_))));
}

/// The `redis` crate drops what comes in first after a read that timed out. If that was a message, a release may have been
/// missed, and the listener begins anew.
#[test]
fn a_thread_that_may_have_missed_a_message_connects_anew() {
    let server = Server::start();
    cmd("SET").arg("k").arg("another owner").exec(&mut server.connect()).unwrap();
    let quiet = TcpListener::bind("127.0.0.1:0").unwrap();
    let releases = Threads::listener(redis::Client::open(("127.0.0.1", quiet.local_addr().unwrap().port())).unwrap());
    let connected = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connected);
    // Ends with the test binary.
    thread::spawn(move || {
        for connection in quiet.incoming() {
            counter.fetch_add(1, Ordering::Relaxed);
            thread::spawn(move || say_nothing_until_asked(&connection.unwrap()));
        }
    });
    let _waiting = wait_for_it(Threads::open(&server, announced()).notified_by(&releases));
    until("it connects anew", || (connected.load(Ordering::Relaxed) >= 2).then_some(()));
}

/// A server of which a message arrives just before it answers the first PING.
fn say_nothing_until_asked(mut connection: &TcpStream) {
    let mut parser = redis::Parser::new();
    while let Ok(redis::Value::Array(words)) = parser.parse_value(connection) {
        let words: Vec<String> = words.iter().map(|word| redis::from_redis_value_ref(word).unwrap()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = match words[..] {
            ["SUBSCRIBE", channel] => format!("*3\r\n$9\r\nsubscribe\r\n${}\r\n{channel}\r\n:1\r\n", channel.len()),
            ["PING", "1"] => "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\nx\r\n*2\r\n$4\r\npong\r\n$1\r\n1\r\n".to_owned(),
            ["PING", argument] => format!("*2\r\n$4\r\npong\r\n${}\r\n{argument}\r\n", argument.len()),
            _ => "+OK\r\n".to_owned(),
        };
        connection.write_all(answer.as_bytes()).unwrap();
    }
}

/// The channel of a lock without waiters is left, and the next one is subscribed to.
fn a_waiter_listens_after_another_channel_was_left<W: World + 'static>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let mut monitor = Monitor::on(&server);
    let (alice, guard, bob) = alice_holds_and_bob_listens::<W>(&server, &releases, &mut monitor);
    assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));
    let (_bob, won) = bob.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(won, Ok(Attempt::Won(_))), "{won:?}");

    let other = || token_on("other", AN_HOUR).announced(Publish::Everywhere);
    let [holder, waiter] = [(); 2].map(|()| W::open(&server, other()).notified_by(&releases));
    let guard = holder.win();
    // The channel is kept for a second.
    pause(ms(1500));
    let waiter = wait_for_it(waiter);
    let mut operator = server.connect();
    // Sooner than the listener asks a quiet server whether it is still there.
    pause(ms(1500));
    let (_, listening): (String, usize) =
        cmd("PUBSUB").arg("NUMSUB").arg("{other}:released").query(&mut operator).unwrap();
    assert_eq!(listening, 1, "the waiter wakes the listener");
    assert_eq!(listeners(&mut operator, false), 0, "the other channel is left");
    monitor.skip();
    pause(ms(1500));
    assert_eq!(count(&monitor.take(), "SET"), 0, "it does not poll");
    assert!(matches!(holder.release(guard), Ok(Answer::Known(Released::Freed))));
    assert!(matches!(waiter.recv_timeout(PATIENCE).unwrap().1, Ok(Attempt::Won(_))));
}

/// A listener that has to subscribe to one more channel is woken: it does not find that when it looks around, each second.
fn a_waiter_beside_others_listens_at_once<W: World>() {
    const KEYS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
    let server = Server::start();
    let releases = W::releases(&server);
    let lock = |key| W::open(&server, token_on(key, AN_HOUR).announced(Publish::Everywhere));
    let held = KEYS.map(|key| {
        let holder = lock(key);
        let guard = holder.win();
        (holder, guard)
    });
    let mut operator = server.connect();
    scope(|scope| {
        let began = now();
        for key in KEYS {
            let waiter = lock(key).notified_by(&releases);
            scope.spawn(move || assert!(matches!(waiter.acquire(&Wait::notified()), Ok(Attempt::Won(_)))));
            until("it listens", || {
                let channel = format!("{{{key}}}:released");
                let (_, listeners): (String, usize) =
                    cmd("PUBSUB").arg("NUMSUB").arg(channel).query(&mut operator).unwrap();
                (listeners == 1).then_some(())
            });
        }
        let elapsed = began.elapsed();
        held.into_iter().for_each(|(holder, guard)| drop(holder.release(guard)));
        assert!(elapsed < ms(4000), "{elapsed:?}");
    });
}

fn a_listener_connects_anew_after_longer_and_longer_pauses<W: World>() {
    let server = Server::start();
    cmd("SET").arg("k").arg("another owner").exec(&mut server.connect()).unwrap();
    let closing = TcpListener::bind("127.0.0.1:0").unwrap();
    let releases = W::listener(redis::Client::open(("127.0.0.1", closing.local_addr().unwrap().port())).unwrap());
    let connected = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connected);
    // Ends with the test binary.
    thread::spawn(move || {
        for _connection in closing.incoming() {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    let world = W::open(&server, announced()).notified_by(&releases);
    assert!(matches!(world.acquire(&Wait::notified().for_at_most(ms(1000))), Ok(Attempt::Held(_))));
    let connected = connected.load(Ordering::Relaxed);
    assert!((2..=10).contains(&connected), "10 ms, and twice as long each time: {connected}");
}

fn a_listening_waiter_sends_nothing_until_the_release<W: World + 'static>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let [alice, bob, carol] = [(); 3].map(|()| W::open(&server, announced()).notified_by(&releases));
    let guard = alice.win();
    let mut monitor = Monitor::on(&server);
    let bob = wait_for_it(bob);
    until_quiet(&server, &mut monitor);
    let carol = wait_for_it(carol);
    let mut sent = Vec::new();
    until("Carol has tried", || {
        sent.extend(monitor.take());
        (count(&sent, "SET") > 0).then_some(())
    });
    // Longer than the longest pause of a waiter that polls.
    pause(ms(2500));
    sent.extend(monitor.take());
    let is_of_an_attempt = |name: &String| ["SET", "PTTL"].contains(&name.as_str());
    assert!(names(&sent).iter().all(is_of_an_attempt), "the channel is subscribed to: {sent:?}");
    assert!(count(&sent, "SET") <= 2, "both wait: {sent:?}");
    assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));
    let (bob, won) = bob.recv_timeout(PATIENCE).unwrap();
    let Ok(Attempt::Won(guard)) = won else { panic!("it is his turn: {won:?}") };
    assert!(matches!(bob.release(guard), Ok(Answer::Known(Released::Freed))));
    assert!(matches!(carol.recv_timeout(PATIENCE).unwrap().1, Ok(Attempt::Won(_))));
}

/// The clients that have subscribed to some channel. RESP3 clients count as normal ones.
fn subscribers(operator: &mut Connection) -> Vec<u64> {
    let clients: String = cmd("CLIENT").arg("LIST").query(operator).unwrap();
    let subscribed = clients.lines().filter(|line| line.contains(" sub=") && !line.contains(" sub=0 "));
    subscribed.map(|line| line.split(&['=', ' '][..]).nth(1).unwrap().parse().unwrap()).collect()
}

fn disconnect_listener(operator: &mut Connection) {
    let listener = subscribers(operator).remove(0);
    assert_eq!(cmd("CLIENT").arg(&["KILL", "ID"]).arg(listener).query(operator), Ok(1));
}

/// A listener that is disconnected while no client waits ends, and the next waiter starts another one.
fn a_listener_that_ended_without_waiters_is_started_again<W: World + 'static>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let [alice, mut bob] = [(); 2].map(|()| W::open(&server, announced()).notified_by(&releases));
    let (mut monitor, mut operator) = (Monitor::on(&server), server.connect());
    for _ in 0..2 {
        let guard = alice.win();
        let waiting = wait_for_it(bob);
        until_quiet(&server, &mut monitor);
        assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));
        let (world, won) = waiting.recv_timeout(PATIENCE).expect("Bob is notified");
        let Ok(Attempt::Won(guard)) = won else { panic!("no other client wants it: {won:?}") };
        bob = world;
        drop(bob.release(guard));
        disconnect_listener(&mut operator);
        // The listener finds that out.
        pause(ms(100));
        assert_eq!(subscribers(&mut operator), [0; 0], "it does not connect anew for nobody");
    }
}

/// The caller is asked again and again whether to go on, and a release ends the wait as it ends any other.
#[test]
fn a_wait_that_its_caller_may_end_is_woken_by_a_release() {
    let server = Server::start();
    let listener = ReleaseListener::new(server.client()).expect("random bytes can be read");
    let [holder, waiter] = [(); 2].map(|()| Lock::new(server.connect(), announced()).notified_by(&listener));
    let Ok(Attempt::Won(guard)) = holder.try_acquire() else { panic!("no other client wants it") };
    let mut asked = 0;
    let ended = waiter.acquire_while(&Wait::notified(), |attempt, _| {
        assert!(matches!(attempt, Ok(Attempt::Held(_))));
        asked += 1;
        asked < 5
    });
    assert!(matches!(ended, Ok(Attempt::Held(_))) && asked == 5, "{ended:?}");
    let mut monitor = Monitor::on(&server);
    let (won, wins) = channel();
    thread::spawn(move || {
        let attempt = waiter.acquire_while(&Wait::notified(), |_, _| true);
        won.send(matches!(attempt, Ok(Attempt::Won(_))))
    });
    until_quiet(&server, &mut monitor);
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
    assert!(wins.recv_timeout(BEFORE_A_LOOK).expect("the release wakes it"));
}

/// Each of them is broken off after its first try, and speaks for the next one, which does not ask for that.
#[test]
fn a_wait_that_its_caller_may_end_takes_no_turns() {
    const WAITS: u32 = 20;
    let server = Server::start();
    let listener = ReleaseListener::new(server.client()).expect("random bytes can be read");
    let mut monitor = Monitor::on(&server);
    let (_alice, _guard, _bob) = alice_holds_and_bob_listens::<Threads>(&server, &listener, &mut monitor);
    let carol = Lock::new(server.connect(), announced()).notified_by(&listener);
    let began = now();
    for _ in 0..WAITS {
        assert!(matches!(carol.acquire_while(&Wait::notified(), |_, _| false), Ok(Attempt::Held(_))));
    }
    let elapsed = began.elapsed();
    assert!(elapsed < WAITS * ms(250) / 2, "{elapsed:?}");
}

/// Waits until a listener has counted as many commands as the server has run for it.
fn until_counted(monitor: &mut Monitor, commands: impl Fn() -> u64) {
    let mut sent = Vec::new();
    until("the listener has counted its commands", || {
        sent.extend(monitor.take());
        let of_listener = ["SUBSCRIBE", "UNSUBSCRIBE", "PUBLISH", "PING"].map(|name| count(&sent, name) as u64);
        let all: u64 = of_listener.into_iter().sum();
        (all > 0 && all == commands()).then_some(())
    });
}

#[test]
fn a_listener_counts_the_commands_that_its_thread_sends() {
    let server = Server::start();
    cmd("SET").arg("k").arg("another owner").arg("PX").arg(500).exec(&mut server.connect()).unwrap();
    let mut monitor = Monitor::on(&server);
    let listener = ReleaseListener::new(server.client()).expect("random bytes can be read");
    let lock = Lock::new(server.connect(), announced()).notified_by(&listener);
    assert!(matches!(lock.acquire(&Wait::notified()), Ok(Attempt::Won(_))));
    until_counted(&mut monitor, || listener.commands());
}

#[cfg(feature = "tokio")]
#[test]
fn a_listener_counts_the_commands_that_its_task_sends() {
    let server = Server::start();
    cmd("SET").arg("k").arg("another owner").arg("PX").arg(500).exec(&mut server.connect()).unwrap();
    let mut monitor = Monitor::on(&server);
    let listener = aio::ReleaseListener::new(server.client());
    let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
    let waits = async {
        let connection = server.client().get_multiplexed_async_connection().await.expect("it accepts connections");
        let lock = aio::Lock::new(connection, announced()).notified_by(&listener);
        matches!(lock.acquire(&Wait::notified()).await, Ok(Attempt::Won(_)))
    };
    assert!(runtime.block_on(waits));
    until_counted(&mut monitor, || listener.commands());
}

#[cfg(feature = "tokio")]
#[test]
fn a_listener_whose_runtime_has_ended_goes_on_in_the_one_of_a_waiter() {
    let server = Server::start();
    let [ended, going_on] = [(); 2].map(|()| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("threads can be started")
    });
    let listener = aio::ReleaseListener::new(server.client());
    let holder = Lock::new(server.connect(), announced());
    let Ok(Attempt::Won(guard)) = holder.try_acquire() else { panic!("no other client wants it") };
    let mut monitor = Monitor::on(&server);
    let waits_on = |runtime: &tokio::runtime::Runtime| {
        let (client, listener) = (server.client(), listener.clone());
        runtime.spawn(async move {
            let connection = client.get_multiplexed_async_connection().await.expect("the server accepts connections");
            let lock = aio::Lock::new(connection, announced()).notified_by(&listener);
            lock.acquire(&Wait::notified()).await.map(|attempt| matches!(attempt, Attempt::Won(_)))
        })
    };
    drop(waits_on(&ended));
    until_quiet(&server, &mut monitor);
    let waiting = waits_on(&going_on);
    until_quiet(&server, &mut monitor);
    ended.shutdown_timeout(PATIENCE);
    until_quiet(&server, &mut monitor);
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
    assert!(matches!(going_on.block_on(waiting), Ok(Ok(true))));
    assert_eq!(count(&monitor.take(), "SET"), 1, "it does not poll");
}

fn a_user_that_may_not_subscribe_polls<W: World>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let mut operator = server.connect();
    cmd("ACL").arg(&["SETUSER", "default", "resetchannels"]).exec(&mut operator).unwrap();
    wins_by_polling::<W>(&server, Some(&releases), announced());
    // Nothing is wrong with the connection: it is asked once.
    let denied: Vec<HashMap<String, String>> = cmd("ACL").arg("LOG").query(&mut operator).unwrap();
    let is_subscription =
        |entry: &&HashMap<String, String>| entry["context"] == "toplevel" && entry["object"] == "{k}:released";
    let subscriptions: Vec<&String> = denied.iter().filter(is_subscription).map(|entry| &entry["count"]).collect();
    assert_eq!(subscriptions, ["1"], "{denied:?}");
}

fn a_waiter_without_a_listener_polls<W: World>() {
    wins_by_polling::<W>(&Server::start(), None, announced());
}

fn a_wait_that_polls_does_not_listen<W: World>() {
    let server = Server::start();
    cmd("SET").arg("k").arg("another owner").exec(&mut server.connect()).unwrap();
    let world = W::open(&server, announced()).notified_by(&W::releases(&server));
    let mut monitor = Monitor::on(&server);
    assert!(matches!(world.acquire(&Wait::every(ms(10)).for_at_most(ms(200))), Ok(Attempt::Held(_))));
    assert_eq!(count(&monitor.take(), "SUBSCRIBE"), 0);
}

fn a_lock_that_announces_nothing_is_polled<W: World>() {
    let server = Server::start();
    let releases = W::releases(&server);
    wins_by_polling::<W>(&server, Some(&releases), token(AN_HOUR));
}

fn one_connection_serves_all_waiters_and_closes_after_the_last<W: World>() {
    let server = Server::start();
    let mut operator = server.connect();
    let connections = |operator: &mut Connection| -> usize {
        let clients: String = cmd("CLIENT").arg("LIST").query(operator).unwrap();
        clients.lines().count()
    };
    let releases = W::releases(&server);
    let mut worlds: Vec<_> = (0..6).map(|_| W::open(&server, announced()).notified_by(&releases)).collect();
    let alice = worlds.pop().unwrap();
    let guard = alice.win();
    let before = connections(&mut operator);
    let mut monitor = Monitor::on(&server);
    scope(|scope| {
        let waiting: Vec<_> = worlds
            .into_iter()
            .map(|world| scope.spawn(move || world.acquire(&Wait::notified()).map(|_| world)))
            .collect();
        until_quiet(&server, &mut monitor);
        until("two connections are the monitor's, and one the listener's", || {
            (connections(&mut operator) == before + 3).then_some(())
        });
        drop(alice.release(guard));
        let worlds: Vec<_> = waiting.into_iter().map(|waiting| waiting.join().unwrap().unwrap()).collect();
        drop((worlds, alice, releases));
    });
    until("no client listens any more", || subscribers(&mut operator).is_empty().then_some(()));
    assert_eq!(count(&monitor.take(), "PING"), 0, "it does not wait until it would ask the server");
}

/// Nothing is published then, and the lease ends in an hour. One of the waiters looks.
fn a_key_that_an_operator_deletes_is_noticed_within_seconds<W: World + 'static>() {
    const SECONDS: Duration = ms(12_000);
    let server = Server::start();
    let releases = W::releases(&server);
    let mut monitor = Monitor::on(&server);
    let (_alice, guard, bob) = alice_holds_and_bob_listens::<W>(&server, &releases, &mut monitor);
    let _carol = wait_for_it(W::open(&server, announced()).notified_by(&releases));
    until_tried(&mut monitor);
    until_quiet(&server, &mut monitor);
    let began = now();
    let mut sent = Vec::new();
    while began.elapsed() < SECONDS {
        pause(ms(50));
        sent.extend(monitor.take());
    }
    let tries = count(&sent, "SET");
    assert!((1..=3).contains(&tries), "one of the two, every four to five seconds: {tries}");
    cmd("DEL").arg("k").exec(&mut server.connect()).unwrap();
    let ended = bob.recv_timeout(SECONDS).expect("he looks");
    assert!(matches!(ended.1, Ok(Attempt::Won(_))), "{:?}", ended.1);
    drop(guard);
}

fn a_try_that_makes_sure_that_no_release_was_missed_is_not_counted<W: World>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let [alice, bob] = [(); 2].map(|()| W::open(&server, announced()).notified_by(&releases));
    let guard = alice.win();
    let mut monitor = Monitor::on(&server);
    scope(|scope| {
        let waiting =
            scope.spawn(move || bob.acquire(&Wait::notified().tries(2)).map(|attempt| attempt.won().is_some()));
        until_quiet(&server, &mut monitor);
        assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));
        assert!(matches!(waiting.join().unwrap(), Ok(true)), "the release makes for the second try");
    });
}

/// As the future of a branch of `select!` that is not looked at while another one is at work.
#[cfg(feature = "tokio")]
#[test]
fn a_waiter_that_is_not_polled_keeps_the_others_from_a_release_for_seconds_only() {
    let server = Server::start();
    let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
    let listener = aio::ReleaseListener::new(server.client());
    let holder = Lock::new(server.connect(), announced());
    let Ok(Attempt::Won(guard)) = holder.try_acquire() else { panic!("no other client wants it") };
    let mut monitor = Monitor::on(&server);
    runtime.block_on(async {
        let connection = server.client().get_multiplexed_async_connection().await.expect("it accepts connections");
        let lock = aio::Lock::new(connection, announced()).notified_by(&listener);
        let wait = Wait::notified();
        let mut parked = Box::pin(lock.acquire(&wait));
        let waits = tokio::time::timeout(ms(1000), &mut parked).await;
        assert!(waits.is_err(), "it is held");
        let other = lock.clone();
        let other =
            tokio::spawn(async move { other.acquire(&Wait::notified()).await.map(|attempt| attempt.won().is_some()) });
        tokio::task::block_in_place(|| {
            until_quiet(&server, &mut monitor);
            assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
        });
        let won = tokio::time::timeout(ms(12_000), other).await.expect("it looks").expect("it does not panic");
        assert!(matches!(won, Ok(true)));
        drop(parked);
    });
}
