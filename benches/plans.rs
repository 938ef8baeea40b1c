//! What a plan finds, beside a search of every single step: each dialect that can be bridged alone, and the fleets of the guide.
//!
//! A plan explores round trips and clock readings, within seconds. Here the same phases are explored again with every clock
//! reading, command and reply as a step of its own, for a given time each. Every rule that only this finds is named, with the step that
//! breaks it; so is every fleet whose states were not all seen. The lines are rows of a table in Markdown.
//!
//! ```text
//! cargo bench --bench plans                                  # all, a minute each: more than an hour
//! cargo bench --bench plans -- --for 20 php-getset jedis-lock   # these, 20 seconds each
//! ```

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockshift::driver::host;
use lockshift::explore::{Cause, Grain, Property};
use lockshift::legacy::{self, Dialect};
use lockshift::plan::{Effort, Phase, Plan, Way, plan};

/// The fleets of the migration guide that have more than one dialect.
const FLEETS: [&str; 1] = ["php-getset,java-getset"];

fn main() {
    let (mut seconds, mut names) = (60, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--bench" => {}
            "--for" => seconds = words.next().and_then(|word| word.parse().ok()).expect("--for takes seconds"),
            name => names.push(name.to_owned()),
        }
    }
    if names.is_empty() {
        names = legacy::catalogue().map(|dialect| dialect.name.to_owned()).collect();
        names.extend(FLEETS.map(str::to_owned));
    }
    println!("| fleet | plan | every step: states, s | all seen | found by single steps only |\n|---|---|---|---|---|");
    let rows = names.iter().filter_map(|names| row(names, Duration::from_secs(seconds)));
    let missed = rows.inspect(|row| println!("{}", row.text)).filter(|row| row.is_missed).count();
    println!("\n{missed} of {} fleets break a rule by a step that their plans do not name.", names.len());
}

struct Row {
    text: String,
    is_missed: bool,
}

/// A fleet by both searches; none if it cannot be bridged.
fn row(names: &str, time: Duration) -> Option<Row> {
    let known = |name| legacy::find(name).unwrap_or_else(|| panic!("there is no dialect `{name}`"));
    let fleet: Vec<&'static Dialect> = names.split(',').map(known).collect();
    let (planned, planned_secs) = explored(&fleet, None, time)?;
    let (finely, secs) = explored(&fleet, Some(Grain::Fine), time)?;
    let known = harms(&planned);
    let missed: Vec<String> = harms(&finely).difference(&known).map(|harm| format!("{harm:?}")).collect();
    let states: usize = finely.phases.iter().map(|result| result.states).sum();
    let all_seen = finely.phases.iter().all(|result| result.exhausted);
    let safe = if planned.is_safe() { "safe" } else { "not safe" };
    let text = format!(
        "| `{names}` | {safe}, {planned_secs:.0} s | {states}, {secs:.0} | {} | {} |",
        if all_seen { "yes" } else { "no" },
        if missed.is_empty() { "-".to_owned() } else { missed.join("; ") },
    );
    Some(Row { text, is_missed: !missed.is_empty() })
}

/// What a plan finds in this time, and how long it took.
fn explored(fleet: &[&'static Dialect], grain: Option<Grain>, time: Duration) -> Option<(Plan, f64)> {
    let (time_is_up, begin) = (AtomicBool::new(false), host::mono());
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let effort = Effort { grain, interrupt: grain.map(|_| &time_is_up), ..Effort::new(threads) };
    let to = "token".parse().expect("token is a protocol");
    let planned = plan(fleet, &to, Way::Bridge, &effort, &mut |_, _| {
        time_is_up.store(host::mono().saturating_since(begin) > time, Ordering::Relaxed);
    });
    Some((planned.ok()?, host::mono().saturating_since(begin).as_secs_f64()))
}

/// The rules that are broken in each phase with old clients, and by which cause.
fn harms(plan: &Plan) -> BTreeSet<(Phase, Property, Option<Cause>)> {
    let phases = plan.phases.iter().filter(|result| result.phase.has_legacy());
    let harms = phases.flat_map(|result| {
        result.residuals.iter().map(|residual| (result.phase, residual.property, residual.cause.clone()))
    });
    harms.collect()
}
