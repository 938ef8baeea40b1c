//! scratch
use lockshift::races;
use std::num::NonZeroUsize;
use std::time::Instant;
#[allow(clippy::disallowed_methods)]
fn main() {
    let ids: Vec<String> = std::env::args().skip(1).collect();
    let all = Instant::now();
    for race in races::catalogue() {
        if !ids.is_empty() && !ids.iter().any(|id| race.id.contains(id.as_str())) {
            continue;
        }
        let show = |what: &str, found: Option<races::Found>, at: Instant| {
            println!("=== {what} {} {:?}", race.violates, at.elapsed());
            let Some(found) = found else {
                println!("   NOT FOUND");
                return;
            };
            println!(
                "  fits={} steps={} states={} blame={:?}",
                found.is_it,
                found.actions.len(),
                found.states,
                found.trace.blame
            );
            if !ids.is_empty() || !found.is_it {
                for (n, step) in found.trace.steps.iter().enumerate() {
                    let x = step
                        .exchange
                        .as_ref()
                        .map(|x| {
                            let c = x.command.to_string();
                            let c = if c.len() > 90 { format!("{}..{}", &c[..30], &c[c.len() - 55..]) } else { c };
                            format!("{c} -> {}", x.reply)
                        })
                        .unwrap_or_default();
                    let keys: Vec<String> = step
                        .after
                        .keys
                        .iter()
                        .map(|k| k.as_ref().map_or("-".into(), |k| format!("{} ttl {:?}", k.value, k.ttl_ms)))
                        .collect();
                    println!(
                        "  {}{n:2} t={} {} {x} => {} | {}",
                        if found.trace.blame == Some(n) { "*" } else { " " },
                        step.at_ms,
                        found.trace.name_of(step),
                        step.note,
                        keys.join(" ; ")
                    );
                }
                println!("  {}", found.trace.says);
            }
        };
        let at = Instant::now();
        show(&format!("{} [{}]", race.id, race.protocol()), race.reproduce(NonZeroUsize::MIN, &mut |_| ()), at);
        for remedy in race.remedies {
            let at = Instant::now();
            let c = race.check(remedy, NonZeroUsize::MIN, &mut |_| ());
            if !c.prevents() {
                let f = race.counterexample(remedy);
                show("REMEDY", f, at);
            }
            println!(
                "    remedy {}: {} reproduced={} exhausted={} states={} {:?}",
                remedy.name(&race.cast),
                if c.prevents() { "ok" } else { "FAILS" },
                c.reproduced,
                c.exhausted,
                c.states,
                at.elapsed()
            );
        }
        for v in race.variations {
            let at = Instant::now();
            show(&format!("  variation {}: {}", v.what, v.violates), v.reproduce(NonZeroUsize::MIN, &mut |_| ()), at);
        }
    }
    println!("all {:?}", all.elapsed());
}
