//! The scenes: every client, in every protocol that it speaks, against one of our lockers on the same key.

mod bytes;
mod contention;
mod crash;
mod expiry;
mod extension;
mod guard_modes;
pub(crate) mod guarded;
mod matrix;
mod mixed;
mod release;
mod waking;

use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Trial;

use crate::content::Contents;
use crate::roster::{CLIENTS, Client, KEYS_BEGIN, Spoken};
use crate::testbed::{Proof, Testbed};

/// A lease that outlasts any scene.
const LONG: Duration = Duration::from_secs(600);

/// A scene, by what it shows.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    /// Its column in the table in `docs/interop.md`.
    pub(crate) head: &'static str,
    /// The directions in which it is played.
    pub(crate) mark: &'static str,
    applies: fn(Spoken) -> bool,
    play: fn(&Part<'_>),
}

impl Scene {
    /// Whether it is played with this protocol.
    pub(crate) fn is_for(&self, spoken: Spoken) -> bool {
        (self.applies)(spoken)
    }
}

/// A scene that has no column in the table.
#[derive(Clone, Copy)]
struct SceneApart {
    name: &'static str,
    play: fn(&Part<'_>),
}

/// The participants of a scene.
struct Part<'a> {
    testbed: &'a Testbed,
    client: &'static Client,
    spoken: Spoken,
    scene: &'static str,
}

/// All of them, in the order of the table in `docs/interop.md`.
pub(crate) const SCENES: &[Scene] = &[
    Scene {
        name: "refused_while_held", head: "held", mark: "⇄", applies: |_| true, play: release::refused_while_held
    },
    Scene {
        name: "free_once_released",
        head: "released",
        mark: "⇄",
        applies: |_| true,
        play: release::free_once_released,
    },
    Scene {
        name: "woken_by_the_release",
        head: "woken",
        mark: "⇄",
        applies: waking::is_announced,
        play: waking::woken_by_the_release,
    },
    Scene {
        name: "taken_when_expired",
        head: "expired",
        mark: "⇄",
        applies: |_| true,
        play: expiry::taken_when_expired,
    },
    Scene {
        name: "taken_after_a_crash",
        head: "crashed",
        mark: "⇄",
        applies: |_| true,
        play: crash::taken_after_a_crash,
    },
    Scene {
        name: "a_thousand_cycles",
        head: "1,000 cycles",
        mark: "⇄",
        applies: Spoken::is_exclusive,
        play: contention::a_thousand_cycles,
    },
    Scene {
        name: "same_bytes",
        head: "bytes",
        mark: "=",
        applies: |spoken| spoken.same_bytes && spoken.is_judged_once(),
        play: bytes::same_bytes,
    },
    Scene {
        name: "as_the_matrix_says",
        head: "matrix",
        mark: "✓",
        applies: |spoken| spoken.judges_alike && spoken.is_judged_once(),
        play: matrix::as_the_matrix_says,
    },
    Scene {
        name: "among_foreign_values",
        head: "mixed",
        mark: "✓",
        applies: |spoken| spoken.judges_alike && spoken.is_judged_once() && !spoken.is_on_a_pair(),
        play: mixed::among_foreign_values,
    },
];

/// Every scene with every client in every protocol that it speaks.
pub(crate) fn trials(testbed: &Arc<Testbed>) -> impl Iterator<Item = Trial> + use<> {
    let testbed = Arc::clone(testbed);
    let rows = CLIENTS.iter().flat_map(|client| client.speaks.iter().map(move |spoken| (client, *spoken)));
    let scenes = rows.flat_map(|(client, spoken)| SCENES.iter().map(move |scene| (client, spoken, scene)));
    scenes.filter(|(_, spoken, scene)| scene.is_for(*spoken)).map(move |(client, spoken, scene)| {
        let testbed = Arc::clone(&testbed);
        let name = format!("with_{}::{}::{}", word(client.name), word(&spoken.label()), scene.name);
        Trial::test(name, move || {
            Part { testbed: &testbed, client, spoken, scene: scene.name }.play(scene.play);
            testbed.note(Proof { client: client.name, spoken: spoken.label(), scene: scene.name });
            Ok(())
        })
    })
}

/// The scenes that have no column in the table: every client with an old protocol behind the guard, and every client that
/// extends.
pub(crate) fn trials_apart(testbed: &Arc<Testbed>) -> impl Iterator<Item = Trial> + use<> {
    let testbed = Arc::clone(testbed);
    let guarded = guarded::rows().flat_map(|(client, spoken)| {
        guarded::SCENES.iter().chain(guard_modes::SCENES).map(move |it| (client, spoken, *it))
    });
    let extension = SceneApart { name: "ends_later_once_extended", play: extension::ends_later_once_extended };
    let extended = extension::rows().map(move |(client, spoken)| (client, spoken, extension));
    extended.chain(guarded).map(move |(client, spoken, scene)| {
        let testbed = Arc::clone(&testbed);
        let name = format!("with_{}::{}::{}", word(client.name), word(&spoken.label()), scene.name);
        Trial::test(name, move || {
            Part { testbed: &testbed, client, spoken, scene: scene.name }.play(scene.play);
            Ok(())
        })
    })
}

/// A name as the names of tests are written, so that `--skip with_jedis::` means what it says.
pub(crate) fn word(name: &str) -> String {
    name.replace(" / ", "_against_").replace(['-', '.', ',', '='], "_")
}

impl Part<'_> {
    /// Plays the scene, and deletes what is left of it: `KEYS`, by which contents are read, looks at every key there is.
    fn play(&self, play: fn(&Part<'_>)) {
        play(self);
        let mut server = self.testbed.connect();
        Contents::of(&mut server, &self.key("")).delete(&mut server);
    }

    /// A key of the scene's own.
    fn key(&self, what: &str) -> String {
        format!("{KEYS_BEGIN}{}.{}.{}.{what}", self.client.name, word(&self.spoken.label()), self.scene)
    }
}
