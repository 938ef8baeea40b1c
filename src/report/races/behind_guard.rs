//! A race with its old clients behind guards: prevented, or why not.

use serde::Serialize;

use super::super::exploration::grouped;
use super::super::step_text;
use crate::races::{BehindGuard, Checked, GuardVerdict, Scenario};

/// The old clients of a race behind guards.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct BehindGuardRow {
    /// The old clients, as `explore --client` names them.
    protocol: String,
    /// Whether the rule is broken all the same; null if no guard can be started for these clients.
    reproduced: Option<bool>,
    /// Whether every state within the bounds was seen; null if no guard can be started.
    exhausted: Option<bool>,
    states: Option<usize>,
    /// For how many ticks it was explored.
    ticks: Option<u16>,
    /// Why the guard cannot help; null if it prevents the race.
    because: Option<String>,
}

impl BehindGuardRow {
    pub(super) fn of(behind: &BehindGuard) -> Self {
        let (checked, because) = match &behind.verdict {
            GuardVerdict::Unguardable(because) => (None, Some(because.to_string())),
            GuardVerdict::Prevented(checked) => (Some(checked), None),
            GuardVerdict::Remains(checked) => (Some(checked), behind.because.map(str::to_owned)),
        };
        Self {
            protocol: behind.protocol.clone(),
            reproduced: checked.map(|checked| checked.reproduced),
            exhausted: checked.map(|checked| checked.exhausted),
            states: checked.map(|checked| checked.states),
            ticks: checked.map(|checked| checked.ticks),
            because,
        }
    }

    /// The number of states within which the guard prevents the race, if it does.
    pub(super) fn prevented_within(&self) -> Option<usize> {
        self.states.filter(|_| self.reproduced == Some(false) && self.exhausted == Some(true))
    }

    /// What prevents the race, as a line of a table.
    pub(super) fn cell(&self) -> Option<String> {
        let states = grouped(self.prevented_within()?);
        Some(format!("{} ({states}; {})", self.protocol, self.ticks?))
    }
}

/// A paragraph for each of what the modes come to; nothing if no old client takes part.
pub(super) fn paragraphs(behind: &[BehindGuard], scenario: &Scenario) -> Vec<String> {
    let explored = |behind: &BehindGuard, checked: &Checked| {
        let (states, time) = (grouped(checked.states), step_text::time(scenario.millis(checked.ticks)));
        format!("{} ({states} states, {time})", behind.protocol)
    };
    let mut prevented = Vec::new();
    let mut paragraphs: Vec<(String, Vec<&str>)> = Vec::new();
    for behind in behind {
        let because = match &behind.verdict {
            GuardVerdict::Prevented(checked) => {
                prevented.push(explored(behind, checked));
                continue;
            }
            GuardVerdict::Unguardable(because) => because.to_string(),
            GuardVerdict::Remains(_) => behind.because.unwrap_or("the catalogue does not say why").to_owned(),
        };
        match paragraphs.iter_mut().find(|(known, _)| *known == because) {
            Some((_, protocols)) => protocols.push(&behind.protocol),
            None => paragraphs.push((because, vec![&behind.protocol])),
        }
    }
    let prevented = (!prevented.is_empty()).then(|| format!("Prevented by {}: {BECAUSE}.", prevented.join(" and ")));
    let not =
        |(because, protocols): (String, Vec<&str>)| format!("Not prevented by {}: {because}.", protocols.join(" or "));
    prevented.into_iter().chain(paragraphs.into_iter().map(not)).collect()
}

/// Why a guard helps.
const BECAUSE: &str = "the guard decides on the server which client acquires, answers accordingly, and deletes only its \
                       client's own lock";
