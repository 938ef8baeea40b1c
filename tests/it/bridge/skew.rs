//! Old clients whose clocks differ from the bridge's.

use std::sync::Arc;
use std::time::Duration;

use lockshift::bridge::Unbridgeable;
use lockshift::explore::{Bounds, Client, End, Grain, Property, Scene, Search};
use lockshift::legacy;
use lockshift::lock::Locker;
use lockshift::wire::Key;

use super::{bridge, fleet, seconds};

/// One dialect for each kind of stamp, and whether its clients take over a bridge's stamp when their clocks are ahead: a
/// bridge to the second writes a stamp in the far future, since its readers accept no marked one.
const DIALECTS: [(&str, bool); 3] = [("php-getset", true), ("java-getset", false), ("jedis-lock", true)];

/// The rules that this holder and an old client can break in four seconds with a crash. The old client's clock differs by
/// this much, and neither releases.
fn broken(holder: Arc<dyn Locker>, dialect: &str, skew_ms: i64) -> Vec<Property> {
    let old: Arc<dyn Locker> = Arc::new(legacy::Lock::new(fleet(dialect)[0], Key::from("k"), seconds(2)));
    let old = Client { work: 99, skew_ms, ..Client::new(dialect, old) };
    let holder = Client { work: 99, ..Client::new("holder", holder) };
    let scene = Scene::new(Bounds::ticks(4).crashes(1)).grain(Grain::Coarse);
    let scene = scene.client(old).client(holder);
    let rules = [Property::MutualExclusion, Property::ReleasesOnlyOwn];
    let found = Search::new(&scene).properties(&rules).run(&mut |_| {});
    assert_eq!(found.end, End::Exhausted, "{dialect}");
    found.violations.iter().map(|it| it.property).collect()
}

fn tolerant(dialect: &str, skew_secs: u64) -> Arc<dyn Locker> {
    let bridge = bridge(dialect, 2).and_then(|bridge| bridge.tolerating_skew(Duration::from_secs(skew_secs)));
    Arc::new(bridge.expect("the dialect can be bridged"))
}

#[test]
fn a_bridge_tolerates_clocks_that_are_ahead_or_behind() {
    for (dialect, takes_over_early) in DIALECTS {
        assert_eq!(broken(tolerant(dialect, 0), dialect, 0), [], "{dialect}");
        for (skew_ms, breaks) in [(2500, takes_over_early), (-2500, true)] {
            let without = broken(tolerant(dialect, 0), dialect, skew_ms);
            assert_eq!(without.contains(&Property::MutualExclusion), breaks, "{dialect} {skew_ms}");
            assert_eq!(broken(tolerant(dialect, 3), dialect, skew_ms), [], "{dialect} {skew_ms}");
        }
    }
}

#[test]
fn old_clients_enter_beside_an_old_holder_when_their_clocks_are_ahead() {
    let dialect = "php-getset";
    let old = legacy::Lock::new(fleet(dialect)[0], Key::from("k"), seconds(2));
    assert!(broken(Arc::new(old), dialect, 2500).contains(&Property::MutualExclusion));
}

#[test]
fn every_dialect_that_can_be_bridged_tolerates_an_hour() {
    let tolerates = |name| match bridge(name, 30) {
        Ok(bridge) => bridge.tolerating_skew(Duration::from_secs(3600)).is_ok(),
        Err(_) => true,
    };
    let refused: Vec<_> = legacy::catalogue().map(|it| it.name).filter(|name| !tolerates(name)).collect();
    assert_eq!(refused, [""; 0]);
}

/// PHP 8 compares a date with its seconds as text. The bridge writes a date 200 years ahead, and that of 2240 is text before the
/// 2242713600 of a clock that is 14 years ahead.
#[test]
fn clocks_ahead_are_refused_where_an_old_client_would_take_the_stamp_over() {
    let fleet = bridge("newlife-2021+php-del-takeover", 30).expect("it can be bridged");
    let tolerating = |years: u64| fleet.clone().tolerating_skew(Duration::from_secs(years * 366 * 86_400)).map(drop);
    assert_eq!(tolerating(13), Ok(()));
    let Err(Unbridgeable::NoStamp(stolen)) = tolerating(14) else { panic!("14 years are tolerated") };
    assert_eq!((stolen[0].form_of, stolen[0].by), ("newlife-2021", "php-del-takeover"));
}
