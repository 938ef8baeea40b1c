//! What the drivers and the entry point log: every record under their targets, kept for the tests that ask.

use std::sync::{Mutex, Once, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};

static ENTRIES: Mutex<Vec<(String, Level, String)>> = Mutex::new(Vec::new());

struct Logbook;

impl Log for Logbook {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("lockshift::driver::") || metadata.target() == "lockshift::locks"
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let entry = (record.target().to_owned(), record.level(), record.args().to_string());
            ENTRIES.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        }
    }

    fn flush(&self) {}
}

/// Begins to keep records. All tests share the state: a key that no other client uses tells whose they are.
pub(crate) fn open() {
    static OPENED: Once = Once::new();
    OPENED.call_once(|| {
        log::set_logger(&Logbook).expect("no other client logs in this binary");
        log::set_max_level(LevelFilter::Debug);
    });
}

/// The warnings about this key.
pub(crate) fn warnings_about(key: &str) -> Vec<String> {
    let name = format!("`{key}`");
    let entries = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    entries
        .iter()
        .filter(|(_, level, text)| *level == Level::Warn && text.contains(&name))
        .map(|(_, _, text)| text.clone())
        .collect()
}

/// Whether exactly this was logged.
pub(crate) fn has(target: &str, level: Level, text: &str) -> bool {
    let entries = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    entries.iter().any(|entry| (entry.0.as_str(), entry.1, entry.2.as_str()) == (target, level, text))
}
