//! The table in `docs/interop.md`: the scenes that each client has passed, per protocol and direction. `LOCKSHIFT_BLESS=1`
//! writes the rows that a run has played in whole, and every other complete run compares. Rows of clients that are not ready here stay as they are,
//! and clients from the machine's own packages may be of another version.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::foreign::is_ready;
use crate::golden::golden;
use crate::roster::{CLIENTS, Client, Spoken};
use crate::scenes::{SCENES, Scene};
use crate::testbed::{Proof, Testbed};

const BEGINS: &str = "<!-- interop -->\n\n";
const ENDS: &str = "\n<!-- /interop -->";

/// Compares the results of a complete run with the table, or writes it.
pub(crate) fn compare(testbed: &Testbed) -> ExitCode {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/interop.md");
    let page = fs::read_to_string(path).expect("there is such a page");
    let (before, rest) = page.split_once(BEGINS).expect("a table begins");
    let (kept, after) = rest.split_once(ENDS).expect("what begins ends");
    let table = table(testbed, kept);
    let is_as_kept =
        std::panic::catch_unwind(|| golden("docs/interop.md", &format!("{before}{BEGINS}{table}{ENDS}{after}")));
    if is_as_kept.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn table(testbed: &Testbed, kept: &str) -> String {
    let heads: Vec<_> = SCENES.iter().map(|scene| scene.head).collect();
    let mut table = format!("| client | through | protocol | {} |\n", heads.join(" | "));
    table += &format!("|---|---|---|{}\n", ":-:|".repeat(heads.len()));
    for client in CLIENTS {
        for spoken in client.speaks {
            let begins = format!("| {} | ", client.name);
            let protocol = format!(" | `{}` | ", spoken.label());
            let as_kept = kept.lines().find(|line| line.starts_with(&begins) && line.contains(&protocol));
            if is_ready(client.name) && is_played(testbed, client, *spoken) {
                let version = testbed.session(client).ask("version");
                let kept_version = as_kept.and_then(|line| line.strip_prefix(&begins)?.split(" | ").next());
                let version = kept_version.filter(|_| !client.is_pinned).unwrap_or(&version);
                table += &format!("{begins}{version}{protocol}{} |\n", marks(testbed, client, *spoken));
            } else if let Some(row) = as_kept {
                table += &format!("{row}\n");
            }
        }
    }
    table
}

/// Whether this run has played every scene of the row.
fn is_played(testbed: &Testbed, client: &Client, spoken: Spoken) -> bool {
    let proofs = testbed.proofs();
    let proof = |scene: &Scene| Proof { client: client.name, spoken: spoken.label(), scene: scene.name };
    SCENES.iter().filter(|scene| scene.is_for(spoken)).all(|scene| proofs.contains(&proof(scene)))
}

/// What has been proven, a mark for each scene.
fn marks(testbed: &Testbed, client: &Client, spoken: Spoken) -> String {
    let proofs = testbed.proofs();
    let marks = SCENES.iter().map(|scene| {
        let proof = Proof { client: client.name, spoken: spoken.label(), scene: scene.name };
        if proofs.contains(&proof) { scene.mark } else { "" }
    });
    marks.collect::<Vec<_>>().join(" | ")
}
