//! What to do in a phase: what to deploy, what to watch, how to go back.

use crate::plan::{Phase, Plan, Way};

/// What to do in a phase.
pub(super) struct Advice {
    /// What makes it this phase.
    pub(super) deploy: String,
    /// Commands that show how it goes, the last of which says when to go on.
    pub(super) watch: Vec<String>,
    /// How to go back to the phase before.
    pub(super) back: String,
}

impl Advice {
    pub(super) fn of(plan: &Plan, phase: Phase) -> Self {
        let (bridge, to) = (plan.bridge(), &plan.to);
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
                format!("`{to}` on {NEW_KEY}, in place of the bridges, one after the other"),
                "deploy bridges again, in any order; old clients only once every client that knows the new key alone has ended"
                    .to_owned(),
            ),
            Phase::LegacyObserved => (
                format!(
                    "`lockshift guard --config guard.toml` on each host with `{}`, `mode = \"observe\"` and `events = \"{EVENTS}\"`, \
                     and its port in place of the server's in its clients",
                    guard_rule(plan)
                ),
                "give the clients the server's port again, in any order".to_owned(),
            ),
            Phase::LegacyAndGuard => (
                "`mode = \"bridge\"` in the guard.toml of one host after the other, and SIGHUP".to_owned(),
                "`mode = \"observe\"` and SIGHUP, in any order: what guards leave behind ends with its lease".to_owned(),
            ),
            Phase::Guard => (
                "the last guard in bridge mode; the audit finds clients that still come without one".to_owned(),
                "`mode = \"observe\"` and SIGHUP in one guard after the other".to_owned(),
            ),
            Phase::GuardAndModern => (
                format!(
                    "`{to}` on {NEW_KEY}, in place of the old clients, one after the other; every guard is in bridge mode from here \
                     on: one in `observe` or `protect`, which is the default, lets an old client in beside a holder of the new key"
                ),
                "deploy the old clients again, behind their guards, in any order; every guard stays in bridge mode while a client \
                 knows the new key alone"
                    .to_owned(),
            ),
            Phase::Modern => (
                format!("the last `{to}`"),
                match plan.way {
                    Way::Bridge => "deploy bridges again, and then, if needed, the phases before",
                    Way::Guard => {
                        "deploy old clients behind guards in bridge mode again, and then, if needed, the phases before"
                    }
                }
                .to_owned(),
            ),
        };
        Self { deploy, watch: watch(phase), back }
    }
}

/// The line of the guards' file that names this fleet's keys.
fn guard_rule(plan: &Plan) -> String {
    let names: Vec<&str> = plan.fleet.iter().map(|dialect| dialect.name).collect();
    format!("guard = [\"KEY={}\"]", names.join(","))
}

/// The new key, as the plan names it where clients first use it alone.
const NEW_KEY: &str = "the new key: {KEY}:token for KEY, or KEY:token for a KEY with a hash tag";

/// The file into which the guards write their events, which the audit reads: where the unit of `deploy/` lets them.
const EVENTS: &str = "/var/log/lockshift/events.jsonl";

fn watch(phase: Phase) -> Vec<String> {
    let scan = "lockshift scan --match '*'".to_owned();
    let record = "lockshift record --for 60s -o trace.log".to_owned();
    let audit = "lockshift audit trace.log".to_owned();
    match phase {
        Phase::Legacy | Phase::LegacyAndBridge | Phase::LegacyAndGuard => vec![scan, record, audit],
        Phase::Bridge | Phase::BridgeAndModern | Phase::Guard | Phase::GuardAndModern | Phase::Modern => {
            vec![record, audit, scan]
        }
        Phase::LegacyObserved => vec![format!("lockshift audit {EVENTS}"), scan],
    }
}
