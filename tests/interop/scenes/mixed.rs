//! A newcomer meets what other clients have really written in other protocols, while they live and after their leases. It
//! does what our locker does with the same bytes, and the matrix does not call a theft or a starvation safe.

use std::collections::BTreeMap;

use lockshift::driver::host;
use lockshift::lock::Mode;
use lockshift::matrix::meet;

use super::{Part, word};
use crate::clock::timed;
use crate::content::{Content, Contents};
use crate::foreign::Session;
use crate::foreign_values::{LONG, Written};
use crate::patience::until;
use crate::prediction::{Outcome, comes, ends};

pub(super) fn among_foreign_values(part: &Part<'_>) {
    let newcomer = part.testbed.session(part.client);
    for written in part.testbed.foreign_values() {
        let (holder, ours) = (written.spoken.locker("k", LONG), part.spoken.locker("k", LONG));
        let verdict = || meet(&holder, &ours, host::wall());
        let may_share = holder.mode() == Mode::Shared && ours.mode() == Mode::Shared;

        let met = meets(part, &newcomer, written, "living", &written.living);
        assert!(
            met != Outcome::Wins || may_share || verdict().steals.is_some(),
            "the matrix does not say that it steals from {} in {}",
            written.client.name,
            written.spoken.label()
        );

        // Each protocol has its own idea of when a lease has ended, and those that never judge one have none. So the
        // newcomer comes when our locker says that it can win, or at any time if it never can.
        let dead = Contents(BTreeMap::from([("k".into(), written.dead.clone())]));
        let end = ends(&*ours, &dead, host::wall());
        if let Some(end) = end {
            until("the lease has ended", || timed(|| ()).1.is_after(end).then_some(()));
        }
        let met = meets(part, &newcomer, written, "dead", &written.dead);
        assert!(
            met == Outcome::Wins || end.is_none() && verdict().starves.is_some(),
            "the matrix does not say that it starves behind {} in {}, or it can win since {end:?}",
            written.client.name,
            written.spoken.label()
        );
    }
}

/// What the newcomer makes of it, which is what ours makes of it.
fn meets(part: &Part<'_>, newcomer: &Session, written: &Written, how: &str, content: &Content) -> Outcome {
    let holder = format!("{how}.{}.{}", written.client.name, word(&written.spoken.label()));
    let key = part.key(&holder);
    let contents = Contents(BTreeMap::from([(key.clone().into_bytes(), content.clone())]));
    let mut connection = part.testbed.connect();
    contents.put(&mut connection);
    let found = Contents::of(&mut connection, &key);
    let foreseen = comes(&*part.spoken.locker(&key, LONG), &found, host::wall());

    let wins = newcomer.comes(part.spoken.protocol, &key, LONG);
    let changes = !wins && Contents::of(&mut connection, &key).in_key(&key) != found.in_key(&key);
    let met = Outcome::of(wins, changes);
    Contents::of(&mut connection, &key).delete(&mut connection);
    assert_eq!(met, foreseen, "{} in {} meets {holder}: {content:?}", part.client.name, part.spoken.protocol);
    met
}
