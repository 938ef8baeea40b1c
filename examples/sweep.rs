//! scratch sweep
use lockshift::explore::*;
use lockshift::legacy::{Lock, catalogue::catalogue};
use lockshift::lock::{Lease, Locker};
use std::sync::Arc;
use std::time::Duration;
fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    for dialect in catalogue() {
        if !only.is_empty() && !only.iter().any(|o| o == dialect.name) {
            continue;
        }
        let lease = Lease::new(Duration::from_secs(2)).unwrap();
        let locker: Arc<dyn Locker> = Arc::new(Lock::new(dialect, "lock".into(), lease));
        for (start, dead) in [("empty", false), ("dead", true)] {
            for (release, work) in [("releases", 0), ("overruns", 99)] {
                let mut scene = Scene::new(Bounds::ticks(3)).grain(Grain::Coarse);
                let client = || Client { work, ..Client::new(dialect.name, Arc::clone(&locker)) };
                if dead {
                    let died = Client::new(dialect.name, Arc::clone(&locker));
                    scene = scene.after_death_of(&died, 30);
                }
                let scene = scene.client(client()).client(client());
                let properties = [
                    Property::MutualExclusion,
                    Property::LeaseHonoured,
                    Property::ReleasesOnlyOwn,
                    Property::TruthfulOutcome,
                    Property::NoPhantom,
                ];
                let found =
                    Search::new(&scene).properties(&properties).symmetry(true).most_worlds(60_000).run(&mut |_| ());
                for v in found.violations {
                    let t = &v.trace;
                    let b = t.blame.map(|b| &t.steps[b]);
                    let x = b
                        .and_then(|b| b.exchange.as_ref())
                        .map(|x| format!("{} -> {}", x.command, x.reply))
                        .unwrap_or_default();
                    let seq: Vec<String> = t
                        .steps
                        .iter()
                        .map(|s| {
                            format!(
                                "{}{}",
                                t.name_of(s),
                                s.exchange.as_ref().map_or_else(
                                    || if s.actor.is_none() { "".into() } else { format!("({})", s.note) },
                                    |x| format!(".{}", String::from_utf8_lossy(x.command.name()))
                                )
                            )
                        })
                        .collect();
                    println!(
                        "{:28} {start:6}{release:9} {:24} {:2} steps blame {:?} {:60} | {}",
                        dialect.name,
                        v.property.name(),
                        v.actions.len(),
                        t.blame,
                        x.chars().take(60).collect::<String>(),
                        seq.join(" ")
                    );
                }
            }
        }
    }
}
