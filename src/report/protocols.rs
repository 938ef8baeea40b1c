//! The catalogue of protocols.

use comfy_table::{Attribute, Cell};
use serde::Serialize;

use super::{Report, table};
use crate::protocols::Protocol;

/// The catalogue of protocols.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Protocols(Vec<Listed>);

/// One protocol, as listed.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    name: &'static str,
    generation: String,
    source: &'static str,
    encoding: String,
    options: Vec<String>,
}

impl Protocols {
    /// The list of these.
    pub fn of(protocols: impl IntoIterator<Item = Protocol>) -> Self {
        let listed = |protocol: Protocol| Listed {
            name: protocol.name(),
            generation: protocol.generation().to_string(),
            source: protocol.source(),
            encoding: protocol.encoding().into_owned(),
            options: protocol.options(),
        };
        Self(protocols.into_iter().map(listed).collect())
    }
}

impl Report for Protocols {
    fn text(&self, width: Option<u16>) -> String {
        let mut table = table::table(&["PROTOCOL", "WORLD", "WRITES", "FROM"], width);
        for listed in &self.0 {
            let writes = match listed.options.as_slice() {
                [] => listed.encoding.clone(),
                options => format!("{}; options {}", listed.encoding, options.join(", ")),
            };
            table.add_row([
                Cell::new(listed.name).add_attribute(Attribute::Bold),
                Cell::new(&listed.generation),
                Cell::new(writes),
                Cell::new(listed.source),
            ]);
        }
        table::text(table)
    }
}
