//! A search whose scene is exported: it is run to the end, and what it knows of the parts is handed back.

use super::Run;
use crate::explore::automata::{Automata, NotExportable};
use crate::explore::search::{End, Search};

impl Search<'_> {
    /// The automata of its scene: it is run to the end for that, without exchanges of clients.
    pub(crate) fn automata(&self) -> Result<Automata, NotExportable> {
        self.scene.check_export()?;
        let mut run = Run::new(self.properties(&[]).symmetry(false));
        if run.go_on(&mut |_| ()) != End::Exhausted {
            return Err(NotExportable::TooLarge);
        }
        let words = run.visited.words(run.first.0);
        Ok(Automata::of(self.scene, &run.memo, (words[0], words[2..].to_vec()), run.visited.len()))
    }
}
