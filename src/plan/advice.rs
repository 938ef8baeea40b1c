//! What to do in a phase: what to deploy, what to watch, how to go back.

use std::time::Duration;

use super::phase::{Phase, Way};
use super::phase_result::Plan;
use super::scenes::guarded_name;
use crate::bridge::{Bridge, Unbridgeable};
use crate::legacy::Dialect;
use crate::lock::{Lease, Owner, Token};
use crate::protocols::{Choice, Unsuitable};
use crate::wire::{Key, UnixTime};

/// The lease of [`Plan::example_stamp`].
pub const EXAMPLE_LEASE: Duration = Duration::from_secs(30);

/// When it begins: in November 2026.
pub const EXAMPLE_BEGINS: UnixTime = match UnixTime::from_secs(1_795_245_582) {
    Some(moment) => moment,
    None => panic!("2026 is before 2262"),
};

/// What to do in a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// What makes it this phase.
    pub deploy: String,
    /// Commands that show how it goes, the last of which says when to go on.
    pub watch: Vec<String>,
    /// How to go back to the phase before.
    pub back: String,
}

impl Plan {
    /// What to do in this phase.
    pub fn advice(&self, phase: Phase) -> Advice {
        let bridge = self.bridge();
        let to = &self.to;
        let (deploy, back) = match phase {
            Phase::Legacy => ("nothing: this is the present state".to_owned(), "nothing has changed".to_owned()),
            Phase::LegacyAndBridge => (
                format!("`{bridge}` in place of the old clients, one program after the other"),
                "deploy the old clients again, in any order: what bridges leave behind ends with its lease".to_owned(),
            ),
            Phase::Bridge => (
                "the last bridge; the audit finds clients that still speak the old lock".to_owned(),
                "deploy old clients beside the bridges again".to_owned(),
            ),
            Phase::BridgeAndModern => (
                format!("`{to}` on the new key, {{KEY}}:token for KEY, in place of the bridges, one after the other"),
                "deploy bridges again, in any order; old clients only once every client that knows the new key alone has ended"
                    .to_owned(),
            ),
            Phase::LegacyObserved => (
                format!("`{}` on each host, and its port in place of the server's in its clients", self.guard_command("observe")),
                "give the clients the server's port again, in any order".to_owned(),
            ),
            Phase::LegacyAndGuard => (
                "`mode = \"bridge\"` in the file of one guard after the other, and SIGHUP".to_owned(),
                "`mode = \"observe\"` and SIGHUP, in any order: what guards leave behind ends with its lease".to_owned(),
            ),
            Phase::Guard => (
                "the last guard in bridge mode; the audit finds clients that still come without one".to_owned(),
                "`mode = \"observe\"` and SIGHUP in one guard after the other".to_owned(),
            ),
            Phase::GuardAndModern => (
                format!("`{to}` on the new key, {{KEY}}:token for KEY, in place of the old clients, one after the other"),
                "deploy the old clients again, behind their guards, in any order; no guard may observe while a client knows the new \
                 key alone"
                    .to_owned(),
            ),
            Phase::Modern => (
                format!("the last `{to}`"),
                match self.way {
                    Way::Bridge => "deploy bridges again, and then, if needed, the phases before",
                    Way::Guard => "deploy old clients behind guards again, and then, if needed, the phases before",
                }
                .to_owned(),
            ),
        };
        Advice { deploy, watch: watch(phase), back }
    }

    /// The stamp that the bridge writes into the old key for a lease of [`EXAMPLE_LEASE`] from [`EXAMPLE_BEGINS`], for
    /// programs that write it themselves.
    pub fn example_stamp(&self) -> Vec<u8> {
        example_stamp(&self.fleet)
    }

    /// The command of a guard of this mode for a key of this fleet.
    fn guard_command(&self, mode: &str) -> String {
        let names: Vec<&str> = self.fleet.iter().map(|dialect| dialect.name).collect();
        format!("lockshift guard --guard KEY={} --mode {mode}", names.join(","))
    }

    /// The name of its first guarded clients, where it goes that way: `bridge-guard:php-getset+java-getset`.
    pub fn guarded(&self) -> Option<String> {
        (self.way == Way::Guard).then(|| guarded_name(self.fleet[0], &self.fleet))
    }

    /// The bridge's name: `bridge:php-getset+java-getset`.
    pub fn bridge(&self) -> String {
        let names: Vec<&str> = self.fleet.iter().map(|dialect| dialect.name).collect();
        let name = format!("bridge:{}", names.join("+"));
        match name.parse::<Choice>() {
            // The plan says which double holds that accepts.
            Err(Unsuitable::Unbridgeable { because: Unbridgeable::NotExclusive(_), .. }) => format!("{name},fleet=any"),
            Ok(_) | Err(_) => name,
        }
    }
}

fn example_stamp(fleet: &[&'static Dialect]) -> Vec<u8> {
    let lease = Lease::new(EXAMPLE_LEASE).expect("half a minute is a lease");
    let bridge = Bridge::accepting_double_holds(fleet, Key::from("k"), lease).expect("a plan has a bridge");
    bridge.stamp(&Owner::new(Token::new([0xd7; 16]), 1, 1), EXAMPLE_BEGINS)
}

#[test]
fn the_example_of_every_dialect_keeps_its_clients_out_for_the_lease() {
    use crate::legacy::{self, Lock, Looks};
    use crate::wire::{MonoTime, Reading};
    let lease = Lease::new(EXAMPLE_LEASE).unwrap();
    let mut examples = 0;
    for dialect in legacy::catalogue() {
        if Bridge::new(&[dialect], Key::from("k"), lease).is_err() {
            continue;
        }
        let stamp = example_stamp(&[dialect]);
        for elapsed in [Duration::ZERO, EXAMPLE_LEASE - Duration::from_millis(1)] {
            let clock = Reading { wall: EXAMPLE_BEGINS.saturating_add(elapsed), mono: MonoTime::since_origin(elapsed) };
            let looks = Lock::new(dialect, Key::from("k"), lease).looks(&stamp, clock);
            assert_ne!(looks, Looks::Expired, "{}: {stamp:?} after {elapsed:?}", dialect.name);
        }
        examples += 1;
    }
    assert!(examples > 90, "only {examples} dialects have a bridge");
}

fn watch(phase: Phase) -> Vec<String> {
    let scan = "lockshift scan --match '*'".to_owned();
    let record = "lockshift record --for 60s -o trace.log".to_owned();
    let audit = "lockshift audit trace.log".to_owned();
    match phase {
        Phase::Legacy | Phase::LegacyAndBridge | Phase::LegacyAndGuard => vec![scan, record, audit],
        Phase::Bridge | Phase::BridgeAndModern | Phase::Guard | Phase::GuardAndModern | Phase::Modern => {
            vec![record, audit, scan]
        }
        Phase::LegacyObserved => vec!["lockshift audit events.json   (the guard's --events)".to_owned(), scan],
    }
}
