//! The contract: every protocol, through every driver, on a real server, says on the wire exactly what its original says.
//!
//! What is expected stands in tables of text ([`table`]), a line for each protocol and scene; what happens in a scene is
//! said in [`scene`]; [`stage`] plays it at a time of its own ([`elsewhen`]), so that every stamp is a literal.

mod driver;
mod elsewhen;
mod modern;
mod scene;
mod stage;
mod table;
mod telling;

use std::fmt::Write;

use lockshift::lock::Locker;

use driver::Driver;
use scene::SCENES;
use stage::Stage;
use table::Table;

/// Plays every scene of every protocol through the driver `D`, and panics with all that went otherwise than `table` says.
fn holds<D: Driver>(table: &Table, protocols: &[(&str, Box<dyn Locker>)]) {
    let mut stage = Stage::<D>::open();
    let mut broken = String::new();
    for (name, lock) in protocols {
        for scene in SCENES {
            let expected = table.expectation(name, scene.name);
            let played = stage.play(lock.as_ref(), scene);
            if played != expected {
                let lines = format!("{name}, {}\n  expected  {expected}\n  played    {played}", scene.name);
                writeln!(broken, "{lines}").expect("a String takes everything");
            }
        }
    }
    table.assert_tells_only_of(protocols.iter().map(|(name, _)| *name));
    assert!(broken.is_empty(), "through the {} driver:\n{broken}", D::NAME);
}
