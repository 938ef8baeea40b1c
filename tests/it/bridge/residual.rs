//! What remains possible beside a bridge: nothing among bridges and new clients, and beside old clients only what old
//! clients do to each other, by a step of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lockshift::bridge::new_key;
use lockshift::explore::{Bounds, Client, End, Grain, Property, Scene, Search};
use lockshift::legacy;
use lockshift::modern::TokenLock;
use lockshift::plan::{Effort, Phase, PhaseResult, PhaseVerdict, Plan, Residual, Way, plan};
use lockshift::race_id::RaceId;
use lockshift::report::explanation;
use lockshift::wire::{Command, Key};

use super::{bridge, fleet, seconds};

const TWO: NonZeroUsize = NonZeroUsize::new(2).expect("two is not zero");

/// What three seconds show: enough for the rules that a fleet breaks. Each fleet is explored once for all tests.
fn planned(names: &str) -> Plan {
    static PLANS: Mutex<BTreeMap<String, Plan>> = Mutex::new(BTreeMap::new());
    let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    let explore = || planned_with(names, &Effort { seconds: Some(3), ..Effort::new(TWO) });
    plans.entry(names.to_owned()).or_insert_with(explore).clone()
}

fn planned_with(names: &str, effort: &Effort<'_>) -> Plan {
    plan(&fleet(names), &"token".parse().expect("a protocol"), Way::Bridge, effort, &mut |_, _| {})
        .expect("it can be bridged")
}

fn result(plan: &Plan, phase: Phase) -> &PhaseResult {
    plan.phases.iter().find(|result| result.phase == phase).expect("every phase is explored")
}

/// The rules that old clients break among themselves, and those that they break beside a bridge.
#[track_caller]
fn breaks(names: &str, among_themselves: &[Property], beside_a_bridge: &[Property]) {
    let plan = planned(names);
    let broken = |phase: Phase| {
        let mut broken: Vec<_> = result(&plan, phase).residuals.iter().map(|residual| residual.property).collect();
        broken.dedup();
        broken
    };
    assert_eq!(broken(Phase::Legacy), among_themselves, "{names}: among themselves");
    assert_eq!(broken(Phase::LegacyAndBridge), beside_a_bridge, "{names}: beside a bridge");
    for phase in [Phase::Bridge, Phase::BridgeAndModern, Phase::Modern] {
        assert_eq!(broken(phase), [], "{names}: {phase}");
    }
    let by_others =
        |residual: &&Residual| residual.by().is_some_and(|by| fleet(names).iter().all(|dialect| dialect.name != by));
    let blamed = plan.phases.iter().flat_map(|result| &result.residuals).find(by_others);
    assert!(blamed.is_none(), "{names}: a step that is not an old client's breaks a rule: {blamed:?}");
    assert!(plan.phases.iter().all(|result| result.exhausted), "{names}: every phase is seen to its end");
    assert_eq!(plan.is_safe(), plan.excludes_itself(), "{names}");
}

const THE_LOCK: [Property; 3] = [Property::MutualExclusion, Property::LeaseHonoured, Property::ReleasesOnlyOwn];
/// A late EXPIRE finds another lock, or no lock: the winner does not hold what it believes.
const AND_OUTCOMES: [Property; 4] =
    [Property::MutualExclusion, Property::LeaseHonoured, Property::ReleasesOnlyOwn, Property::TruthfulOutcome];

#[test]
fn getset_dialects_with_a_ttl_break_only_these_rules() {
    breaks("php-getset", &AND_OUTCOMES, &AND_OUTCOMES);
    breaks("java-getset", &AND_OUTCOMES, &AND_OUTCOMES);
}

#[test]
fn getset_dialects_without_a_ttl_break_only_these_rules() {
    breaks("jedis-lock", &THE_LOCK, &THE_LOCK);
    breaks("redis-py-2.8", &THE_LOCK, &THE_LOCK);
}

#[test]
fn del_and_setnx_breaks_only_these_rules() {
    breaks("setnx-page-del", &THE_LOCK, &THE_LOCK);
}

#[test]
fn a_transaction_breaks_only_these_rules() {
    breaks("servicestack", &THE_LOCK, &THE_LOCK);
}

/// Two dialects that take over each other's locks, or never acquire them: without a bridge, Java waits for ever for PHP's
/// lock; the bridge's stamps expire, also for Java.
#[test]
fn a_mixed_fleet_breaks_only_these_rules() {
    let among_themselves = [&AND_OUTCOMES[..], &[Property::CanBeTakenAgain]].concat();
    breaks("php-getset+java-getset", &among_themselves, &among_themselves);
}

/// Its stamp has a millisecond of margin: the second holder's lease has to end as well before the third comes in.
#[test]
fn a_margin_is_explored_until_it_has_passed_twice() {
    let plan = planned_with("npm-redis-lock", &Effort::new(TWO));
    let rules: BTreeSet<Property> = result(&plan, Phase::Legacy).residuals.iter().map(|it| it.property).collect();
    assert!(rules.contains(&Property::MutualExclusion), "{rules:?}");
    assert!(plan.is_safe() && result(&plan, Phase::Legacy).bounds.nothing_new_at_last);
}

/// A client that is held up between the clock reading and the DEL of its release, beside a bridge.
#[test]
fn a_clock_reading_and_the_command_after_it_are_two_steps() {
    let plan = planned_with("setnx-page", &Effort { seconds: Some(4), ..Effort::new(TWO) });
    let rules: BTreeSet<Property> =
        result(&plan, Phase::LegacyAndBridge).residuals.iter().map(|it| it.property).collect();
    assert!(rules.contains(&Property::ReleasesOnlyOwn), "{rules:?}");
    assert!(rules.contains(&Property::MutualExclusion), "{rules:?}");
}

/// Clocks that are further apart than a margin: a bridge judges an old stamp by its own clock, as old clients do.
#[test]
fn clocks_that_differ_are_explored_as_far_as_they_are_apart() {
    let within = |clocks_within| {
        let effort = Effort { seconds: Some(2), clocks_within, ..Effort::new(TWO) };
        let plan = planned_with("php-getset", &effort);
        (plan.is_safe(), result(&plan, Phase::LegacyAndBridge).residuals.iter().any(|it| it.by() == Some("bridge")))
    };
    assert_eq!(within(Duration::ZERO), (true, false));
    assert_eq!(within(Duration::from_secs(2)), (false, true));
}

/// The share of `cargo bench --bench plans` for which there is time in every run.
#[test]
fn single_steps_break_no_rule_that_the_plan_does_not_name() {
    let harms = |plan: &Plan| -> BTreeSet<_> {
        let phases = plan.phases.iter().filter(|result| result.phase.has_legacy());
        let residuals = phases.flat_map(|result| result.residuals.iter().map(|it| (result.phase, it)));
        residuals.map(|(phase, it)| (phase, it.property, it.cause.clone())).collect()
    };
    for names in ["jedis-lock", "redis-py-2.8"] {
        let within = Effort { seconds: Some(1), ..Effort::new(TWO) };
        let finely = planned_with(names, &Effort { grain: Some(Grain::Fine), ..within });
        let found = harms(&finely);
        assert!(!found.is_empty() && finely.phases.iter().all(|result| result.exhausted), "{names}");
        let missed: Vec<_> = found.difference(&harms(&planned(names))).cloned().collect();
        assert_eq!(missed, [], "{names}");
        let without_causes = planned_with(names, &Effort { grain: Some(Grain::Fine), rules_only: true, ..within });
        let rules =
            |plan: &Plan| -> BTreeSet<_> { harms(plan).into_iter().map(|(phase, rule, _)| (phase, rule)).collect() };
        assert_eq!(rules(&without_causes), rules(&finely), "{names}");
        let seen = |plan: &Plan| plan.phases.iter().map(|result| result.states).sum::<usize>();
        assert!(seen(&without_causes) < seen(&finely), "{names}");
    }
}

/// A new lock that finds the new key by itself, from the old one, is the same lock on the same key.
#[test]
fn a_new_lock_on_its_own_sibling_key_meets_the_bridge_there() {
    let effort = Effort { seconds: Some(1), ..Effort::new(TWO) };
    let seen = |to: &str| {
        let plan = plan(&fleet("redis-py-2.8"), &to.parse().expect("a protocol"), Way::Bridge, &effort, &mut |_, _| {});
        let plan = plan.expect("it can be bridged");
        let seen = |it: &PhaseResult| (it.phase, it.states, it.residuals.len(), plan.verdict(it));
        (plan.is_safe(), plan.phases.iter().map(seen).collect::<Vec<_>>())
    };
    let sibling = seen("token,key=sibling");
    assert!(sibling.0, "{sibling:?}");
    assert_eq!(sibling, seen("token"));
}

/// Where values do not name their owners, a second old client hides the loss of a lock that a bridge shows by another rule.
#[test]
fn a_loss_that_another_rule_shows_beside_a_bridge_is_not_new() {
    for names in ["naive-exists-set", "java-setnx-expire"] {
        let plan = planned_with(names, &Effort { seconds: Some(2), ..Effort::new(TWO) });
        let among_themselves = &result(&plan, Phase::Legacy).residuals;
        let beside = result(&plan, Phase::LegacyAndBridge);
        let is_known = |it: &&Residual| {
            among_themselves.iter().any(|known| (known.property, &known.cause) == (it.property, &it.cause))
        };
        let shown: Vec<_> = beside.residuals.iter().filter(|it| !is_known(it)).map(|it| it.property).collect();
        assert!(!shown.is_empty(), "{names}: every loss shows by the same rule");
        assert_eq!(plan.verdict(beside), PhaseVerdict::SafeWithinBounds, "{names}: {shown:?}");
    }
}

#[test]
fn a_fleet_that_does_not_exclude_itself_is_not_safe() {
    let plan = planned_with("php-getset+jedis-lock", &Effort { seconds: Some(0), ..Effort::new(TWO) });
    assert!(!plan.excludes_itself() && !plan.is_safe());
    assert!(plan.stolen.iter().any(|stolen| stolen.by == "jedis-lock"), "{:?}", plan.stolen);
}

/// The guide's rows of the phases with old clients are what the explorer finds for the fleets that the guide is for: those
/// races and no other, except waits, which break no rule, and races that no lock prevents.
#[test]
fn the_guide_names_the_races_that_are_left() {
    let guide = include_str!("../../../migration-guide.md");
    let rows = guide.lines().filter(|line| line.starts_with("| legacy, legacy + bridge | `"));
    let ids =
        rows.flat_map(|row| row.split('|').nth(2).into_iter().flat_map(|races| races.split('`').skip(1).step_by(2)));
    let named: BTreeSet<&str> = ids.collect();
    let plans = ["php-getset", "java-getset", "jedis-lock"].map(planned);
    for phase in [Phase::Legacy, Phase::LegacyAndBridge] {
        let residuals = plans.iter().flat_map(|plan| &result(plan, phase).residuals);
        let found: BTreeSet<&str> =
            residuals.map(|residual| residual.race.map_or("without a name", RaceId::name)).collect();
        assert_eq!(found, named, "{phase}");
    }
}

/// Three clients, explored at every command, with a crash and a lost reply, renewal and release: no violation.
#[test]
fn bridges_and_new_clients_break_no_rule() {
    let bounds = Bounds::ticks(2).crashes(1).lost_replies(1).afterwards(100);
    let bridge = Client::new("bridge", Arc::new(bridge("php-getset", 2).expect("it can be bridged")));
    let token = Client::new("token", Arc::new(TokenLock::new(new_key(&Key::from("k")), seconds(2))));
    let extending = |client: &Client| Client { work: 2, renew_after: Some(1), ..client.clone() };
    let at_any_time = [[bridge.clone(), bridge.clone()], [bridge, token]];
    for crowd in at_any_time.iter().flat_map(|crowd| [crowd.clone(), crowd.each_ref().map(extending)]) {
        let scene = Scene::new(bounds).grain(Grain::Fine);
        let scene = crowd.into_iter().fold(scene, Scene::client);
        let found = Search::new(&scene).properties(&Property::ALL).symmetry(true).threads(TWO).run(&mut |_| {});
        assert_eq!(found.end, End::Exhausted);
        let broken: Vec<_> = found.violations.iter().map(|it| (it.property, explanation(&it.trace))).collect();
        assert_eq!(broken, [], "{} states", found.states);
    }
}

/// The old clients here never release, so a release that deletes another client's lock is the bridge's. It must not happen, not
/// even where a late loser's stamp ended the bridge's lock early and another old client holds it by now.
///
/// The lease of the bridge is twice theirs, so that they write stamps of the moment in which its own ends.
#[test]
fn the_release_of_a_bridge_deletes_no_lock_of_an_old_client() {
    for names in ["jedis-lock", "php-getset", "redis-py-2.8"] {
        let dialect = fleet(names)[0];
        let old = Arc::new(legacy::Lock::new(dialect, Key::from("k"), seconds(1)));
        let old = Client { work: 99, ..Client::new(names, old) };
        let bridge = Client::new("bridge", Arc::new(bridge(names, 2).expect("it can be bridged")));
        let scene = Scene::new(Bounds::ticks(4)).grain(Grain::Coarse);
        let scene = scene.after_death_of(&old, 0).after_command(0, &Command::new("PERSIST").arg("k"));
        let scene = [&old, &old, &bridge].into_iter().fold(scene, |scene, client| scene.client(client.clone()));
        let search = Search::new(&scene).properties(&[Property::ReleasesOnlyOwn, Property::LeaseHonoured]);
        let found = search.symmetry(true).threads(TWO).run(&mut |_| {});
        assert_eq!(found.end, End::Exhausted);
        let broken: Vec<_> = found.violations.iter().map(|it| it.property).collect();
        let shown: Vec<_> = found.violations.iter().map(|it| explanation(&it.trace)).collect();
        assert_eq!(broken, [Property::LeaseHonoured], "{names}: old clients still move each other's leases: {shown:?}");
    }
}
