//! What a plan finds, beside a search of every single step: each dialect that can be bridged alone, and the fleets of the guide.
//!
//! A plan explores round trips and clock readings, within seconds. Here the two phases that have old clients are explored again
//! with every clock reading, command and reply as a step of its own, for a given time each: once for the rules that are broken,
//! reduced, and once for the causes by which, a tenth of that time. Every rule and every cause that only this finds is named; so
//! is whether all states were seen.
//!
//! ```text
//! cargo bench --bench plans -- --for 600 --write                # all, ten minutes for each phase at most
//! cargo bench --bench plans -- --for 20 php-getset jedis-lock   # these, 20 seconds for each phase at most
//! ```
//!
//! `--write` puts the table into `docs/plans.md`. `tests/it/bridge/residual.rs` does the same for a few fleets in every run.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockshift::driver::host;
use lockshift::explore::{Cause, CauseKind, Grain, Property};
use lockshift::legacy::{self, Dialect};
use lockshift::plan::{Effort, Phase, PhaseResult, Plan, Way, plan};

/// The fleets of the migration guide that have more than one dialect.
const FLEETS: [&str; 1] = ["php-getset,java-getset"];

/// A scene with half a billion states takes less.
const MOST_BYTES: usize = 16 << 30;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/plans.md");
const BEGIN: &str = "<!-- plans -->\n";
const END: &str = "<!-- end of plans -->";

fn main() {
    let (mut seconds, mut names, mut writes) = (60, Vec::new(), false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--bench" => {}
            "--write" => writes = true,
            "--for" => seconds = words.next().and_then(|word| word.parse().ok()).expect("--for takes seconds"),
            name => names.push(name.to_owned()),
        }
    }
    if names.is_empty() {
        names = legacy::catalogue().map(|dialect| dialect.name.to_owned()).collect();
        names.extend(FLEETS.map(str::to_owned));
    }
    let begin = host::mono();
    let mut table = "| fleet | plan | time explored | rules: states | all seen | rules by single steps only | causes: states | all seen \
                     | causes by single steps only |\n|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    print!("{table}");
    let (mut fleets, mut missed, mut all_seen) = (0, 0, [0; 2]);
    for row in names.iter().filter_map(|names| Row::of(names, Duration::from_secs(seconds))) {
        println!("{}", row.text);
        table += &format!("{}\n", row.text);
        (fleets, missed) = (fleets + 1, missed + usize::from(row.is_missed));
        all_seen = [0, 1].map(|of| all_seen[of] + usize::from(row.is_all_seen[of]));
    }
    let minutes = host::mono().saturating_since(begin).as_secs().div_ceil(60);
    let [of_rules, of_causes] = all_seen;
    let summary = format!(
        "{missed} of {fleets} fleets break a rule that their plans do not name. The search for rules saw every single \
         step of {of_rules} fleets, and the search for causes those of {of_causes}. In each phase of the other fleets, the search for \
         rules was ended after {seconds} s or at 16 GiB, and the search for causes after {} s or at 20 million states in a scene \
         ({minutes} minutes in all).\n",
        time_for_causes(Duration::from_secs(seconds)).as_secs_f64(),
    );
    print!("\n{summary}");
    if writes {
        let page = std::fs::read_to_string(PAGE).expect("docs/plans.md exists");
        let (head, rest) = page.split_once(BEGIN).expect("the page has the table");
        let (_, tail) = rest.split_once(END).expect("the table has an end");
        let page = format!("{head}{BEGIN}{table}\n{summary}{END}{tail}");
        std::fs::write(PAGE, page).expect("docs/plans.md can be written");
    }
}

struct Row {
    text: String,
    is_missed: bool,
    /// For rules, and for causes.
    is_all_seen: [bool; 2],
}

impl Row {
    /// A fleet by both searches; `None` if it cannot be bridged.
    fn of(names: &str, time: Duration) -> Option<Self> {
        let known = |name| legacy::find(name).unwrap_or_else(|| panic!("there is no dialect `{name}`"));
        let fleet: Vec<&'static Dialect> = names.split(',').map(known).collect();
        let planned = explored(&fleet, Effort { grain: None, ..effort() }, time)?;
        let rules = explored(&fleet, Effort { rules_only: true, max_states: usize::MAX, ..effort() }, time)?;
        let causes = explored(&fleet, effort(), time_for_causes(time))?;
        let named = harms(&planned);
        let names_rule = |(phase, property, _): &&Harm| named.iter().any(|it| (it.0, it.1) == (*phase, *property));
        let (of_rules, of_causes) = (harms(&rules), harms(&causes));
        let (other_causes, mut missed): (Vec<_>, Vec<_>) = of_causes.difference(&named).partition(names_rule);
        missed.extend(of_rules.iter().filter(|harm| !names_rule(harm)));
        let longest = planned.phases.iter().map(|result| result.bounds.time).max().unwrap_or_default();
        let is_all_seen = [&rules, &causes].map(|plan| with_legacy(plan).all(|result| result.exhausted));
        let [states_for_rules, states_for_causes] =
            [&rules, &causes].map(|plan| with_legacy(plan).map(|result| result.states).sum::<usize>());
        let [all_for_rules, all_for_causes] = is_all_seen.map(|is_all| if is_all { "yes" } else { "no" });
        let text = format!(
            "| `{names}` | {} | {} s | {states_for_rules} | {all_for_rules} | {} | {states_for_causes} | {all_for_causes} | {} |",
            if planned.is_safe() { "safe" } else { "not safe" },
            longest.as_secs(),
            in_words(&missed),
            in_words(&other_causes),
        );
        Some(Self { text, is_missed: !missed.is_empty(), is_all_seen })
    }
}

/// Far more states are not reduced for causes, so that more time shows little more of them.
fn time_for_causes(time: Duration) -> Duration {
    time / 10
}

/// Every single step, on all cores.
fn effort() -> Effort<'static> {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Effort { grain: Some(Grain::Fine), max_bytes: MOST_BYTES, ..Effort::new(threads) }
}

/// What a plan finds: all, or in single steps what this time for each phase with old clients allows.
fn explored(fleet: &[&'static Dialect], effort: Effort<'_>, time: Duration) -> Option<Plan> {
    let time_is_up = AtomicBool::new(false);
    let effort = Effort { interrupt: effort.grain.map(|_| &time_is_up), ..effort };
    let to = "token".parse().expect("token is a protocol");
    let (mut last, mut begin) = (None, host::mono());
    let planned = plan(fleet, &to, Way::Bridge, &effort, &mut |phase: Phase, _| {
        if last.replace(phase) != Some(phase) {
            begin = host::mono();
        }
        let is_up = !phase.has_legacy() || host::mono().saturating_since(begin) > time;
        time_is_up.store(is_up, Ordering::Relaxed);
    });
    planned.ok()
}

/// A rule that is broken in a phase with old clients, and by which cause.
type Harm = (Phase, Property, Option<Cause>);

fn in_words(harms: &[&Harm]) -> String {
    let words = |(phase, property, cause): &&Harm| {
        let by = cause.as_ref().and_then(|cause| cause.by.as_deref()).unwrap_or("the server");
        match cause.as_ref().map(|cause| &cause.kind) {
            Some(CauseKind::Command { name, .. }) => format!("{phase}: {property}, by {name} of {by}"),
            Some(kind) => format!("{phase}: {property}, by {by} ({kind:?})"),
            None => format!("{phase}: {property}"),
        }
    };
    if harms.is_empty() { "-".to_owned() } else { harms.iter().map(words).collect::<Vec<_>>().join("; ") }
}

fn with_legacy(plan: &Plan) -> impl Iterator<Item = &PhaseResult> {
    plan.phases.iter().filter(|result| result.phase.has_legacy())
}

/// The rules that are broken in each phase with old clients.
fn harms(plan: &Plan) -> BTreeSet<Harm> {
    let harms = with_legacy(plan).flat_map(|result| {
        result.residuals.iter().map(|residual| (result.phase, residual.property, residual.cause.clone()))
    });
    harms.collect()
}
