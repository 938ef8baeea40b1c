//! The simulated server against a real one: the same random commands, the same replies.
//!
//! Time passes in a real server by itself. So its clock is asked before and after every command, and the simulated
//! server is run at every millisecond in between; each outcome with the right reply stays a possible state. There is
//! no tolerance: a PTTL that is off by one leaves no state over. Only whether a key still exists in the millisecond of its
//! deadline is left open, for a server that may remove it then ([`Terms::removes_early`]).

mod duel;
mod peer;
mod phrases;
mod programs;
mod steps;
mod terms;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

use self::duel::Duel;
use self::peer::Peer;
use self::steps::Step;
use self::terms::Terms;
use crate::server::{Options, Server, fetched};

#[test]
fn random_commands() {
    agree(|_| steps::of(phrases::everything(), 1..40));
}

#[test]
fn random_expiry() {
    agree(|_| steps::of(phrases::expiry(), 1..30));
}

#[test]
fn random_watching() {
    agree(|_| steps::slowly(phrases::watching(), 1..25));
}

#[test]
fn random_comparisons() {
    agree(|terms| steps::of(phrases::comparing(terms), 1..30));
}

#[test]
fn random_comparisons_on_valkey_9_0() {
    agree_with(&newer("valkey-9.0"), |terms| steps::of(phrases::comparing(terms), 1..30));
}

#[test]
fn random_comparisons_on_redis_8_4() {
    agree_with(&newer("redis-8.4"), |terms| steps::of(phrases::comparing(terms), 1..30));
}

#[test]
fn random_expiry_on_redis_8_4() {
    agree_with(&newer("redis-8.4"), |_| steps::of(phrases::expiry(), 1..30));
}

#[test]
fn random_watching_on_redis_8_4() {
    agree_with(&newer("redis-8.4"), |_| steps::slowly(phrases::watching(), 1..25));
}

#[test]
fn random_transactions() {
    agree(|_| steps::of(phrases::transactions(), 1..40));
}

#[test]
fn random_messages() {
    agree(|_| steps::with_a_listener(phrases::publishing(), phrases::listening(), 1..40));
}

#[test]
fn random_scripts() {
    agree(|terms| steps::of(programs::random(terms), 1..8));
}

#[test]
fn shipped_scripts() {
    agree(|_| steps::of(programs::shipped(), 1..25));
}

fn agree<S: Strategy<Value = Vec<Step>>>(sequences: impl FnOnce(Terms) -> S) {
    agree_with(&Server::start(), sequences);
}

/// A server that looks for expired keys in the background as often as it can.
fn newer(name: &str) -> Server {
    Server::with(&Options::new().program(fetched(name)).line("hz 500"))
}

/// Runs sequences of steps on both servers, each sequence on empty ones, and shrinks the first that they disagree on.
fn agree_with<S: Strategy<Value = Vec<Step>>>(server: &Server, sequences: impl FnOnce(Terms) -> S) {
    let terms = Terms::with(&mut Peer::of(server));
    let run = |steps: Vec<Step>| {
        let mut duel = Duel::begin(server, terms);
        steps
            .iter()
            .try_for_each(|step| duel.step(step))
            .map_err(|disagreement| TestCaseError::fail(disagreement.shown()))
    };
    let default = ProptestConfig::default();
    // The same sequences every time, unless PROPTEST_RNG_SEED asks for others: what fails here fails for everybody.
    let rng_seed = match default.rng_seed {
        RngSeed::Random => RngSeed::Fixed(20_261_121),
        chosen @ RngSeed::Fixed(_) => chosen,
    };
    let config = ProptestConfig { failure_persistence: None, max_shrink_iters: 4096, rng_seed, ..default };
    if let Err(failure) = TestRunner::new(config).run(&sequences(terms), run) {
        panic!("{failure}");
    }
}
