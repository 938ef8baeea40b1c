use super::locks::{GetSet, token};
use crate::explore::{Bounds, Client, Grain, Property, Scene, Search};

fn three(locker: &std::sync::Arc<dyn crate::lock::Locker>, ticks: u16, crashes: u8) -> Scene {
    let client = Client::new("x", locker.clone());
    Scene::new(Bounds { crashes, ..Bounds::ticks(ticks) }).client(client.clone()).client(client.clone()).client(client)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a look at speed")]
fn look() {
    for grain in [Grain::Coarse, Grain::Fine] {
        for (name, locker, ticks) in [("getset", GetSet::shared(2), 4), ("token", token(2), 4)] {
            let scene = three(&locker, ticks, 1).grain(grain);
            let start = std::time::Instant::now();
            let found = Search::new(&scene).most_worlds(20_000_000).properties(&Property::ALL[..7]).run(&mut |_| ());
            eprintln!(
                "{grain:?} {name} {ticks}: {found:?} {:?} {} B/state",
                start.elapsed(),
                found.bytes / found.worlds
            );
        }
    }
}
