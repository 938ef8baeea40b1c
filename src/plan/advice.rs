//! What to do in a phase: what to deploy, what to watch, how to go back.

use super::phase::Phase;
use super::phase_result::Plan;
use crate::bridge::Unbridgeable;
use crate::protocols::{Choice, Unsuitable};

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
            Phase::Modern => (
                format!("the last `{to}`"),
                "deploy bridges again, and then, if needed, the phases before".to_owned(),
            ),
        };
        Advice { deploy, watch: watch(phase), back }
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

fn watch(phase: Phase) -> Vec<String> {
    let scan = "lockshift scan --match '*'".to_owned();
    let record = "lockshift record --for 60s -o trace.log".to_owned();
    let audit = "lockshift audit trace.log".to_owned();
    match phase {
        Phase::Legacy | Phase::LegacyAndBridge => vec![scan, record, audit],
        Phase::Bridge | Phase::BridgeAndModern | Phase::Modern => vec![record, audit, scan],
    }
}
