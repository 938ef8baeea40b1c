//! The catalogue of protocols.

use anstyle::Style;
use comfy_table::{Attribute, Cell};
use serde::Serialize;

use super::{Report, table};
use crate::protocols::Protocol;

/// The catalogue of protocols.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Protocols {
    protocols: Vec<Listed>,
    #[serde(skip)]
    in_full: bool,
}

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
    /// These; their text in full, or a line each.
    pub fn of(protocols: impl IntoIterator<Item = Protocol>, in_full: bool) -> Self {
        let listed = |protocol: Protocol| Listed {
            name: protocol.name(),
            generation: protocol.generation().to_string(),
            source: protocol.source(),
            encoding: protocol.encoding().into_owned(),
            options: protocol.options(),
        };
        Self { protocols: protocols.into_iter().map(listed).collect(), in_full }
    }
}

impl Report for Protocols {
    /// All in a table, or those that were named, each with all that is known of it.
    fn text(&self, width: Option<u16>) -> String {
        if self.in_full { self.cards(width) } else { self.list(width) }
    }
}

impl Protocols {
    fn list(&self, width: Option<u16>) -> String {
        let mut table = table::table(&["PROTOCOL", "WORLD", "WRITES", "FROM"], width);
        for listed in &self.protocols {
            table.add_row([
                Cell::new(listed.name).add_attribute(Attribute::Bold),
                Cell::new(&listed.generation),
                Cell::new(&listed.encoding),
                Cell::new(listed.source),
            ]);
        }
        table::text(table)
    }

    fn cards(&self, width: Option<u16>) -> String {
        let cards: Vec<_> = self.protocols.iter().map(|listed| listed.card(width)).collect();
        cards.join("\n")
    }
}

impl Listed {
    fn card(&self, width: Option<u16>) -> String {
        let bold = Style::new().bold();
        let mut rows = table::bare(width);
        let mut row = |label: &str, text: &str| {
            rows.add_row([Cell::new(format!("  {label}")).add_attribute(Attribute::Dim), Cell::new(text)]);
        };
        row("world", &self.generation);
        row("from", self.source);
        row("writes", &self.encoding);
        for option in &self.options {
            // Those of a dialect have a title of their own.
            let (label, text) = option.split_once(": ").unwrap_or(("option", option));
            row(label, text);
        }
        format!("{bold}{}{bold:#}\n{}", self.name, table::text(rows))
    }
}
