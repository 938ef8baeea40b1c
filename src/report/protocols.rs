//! The catalogue of protocols.

use anstyle::Style;
use comfy_table::{Attribute, Cell};
use serde::{Serialize, Serializer};

use super::{Report, table};
use crate::protocols::{Generation, Protocol};

/// The catalogue of protocols.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Protocols {
    protocols: Vec<Listed>,
    #[serde(skip)]
    in_full: bool,
}

/// One protocol, as listed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Listed {
    name: &'static str,
    #[serde(serialize_with = "as_text")]
    #[cfg_attr(test, schemars(with = "String"))]
    generation: Generation,
    source: &'static str,
    key: String,
    encoding: String,
    options: Vec<String>,
}

fn as_text<S: Serializer>(generation: &Generation, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(generation)
}

impl Protocols {
    /// These; their text in full, or a line each.
    pub fn of(protocols: impl IntoIterator<Item = Protocol>, in_full: bool) -> Self {
        let listed = |protocol: Protocol| Listed {
            name: protocol.name(),
            generation: protocol.generation(),
            source: protocol.source(),
            key: protocol.key_name().to_string(),
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
    /// A table for each generation.
    fn list(&self, width: Option<u16>) -> String {
        let tables = [Generation::Legacy, Generation::Modern, Generation::Bridge].map(|generation| {
            let listed = self.protocols.iter().filter(|listed| listed.generation == generation);
            table_of(generation, listed, width)
        });
        tables.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    fn cards(&self, width: Option<u16>) -> String {
        let cards: Vec<_> = self.protocols.iter().map(|listed| listed.card(width)).collect();
        cards.join("\n")
    }
}

fn table_of<'a>(
    generation: Generation,
    listed: impl Iterator<Item = &'a Listed>,
    width: Option<u16>,
) -> Option<String> {
    let mut rows = listed.peekable();
    rows.peek()?;
    let title = generation.to_string().to_uppercase();
    let mut table = table::table(&[&title, "KEY", "WRITES", "FROM"], width);
    for listed in rows {
        let name = Cell::new(listed.name).add_attribute(Attribute::Bold);
        table.add_row([name, Cell::new(&listed.key), Cell::new(&listed.encoding), Cell::new(listed.source)]);
    }
    Some(table::text(table))
}

impl Listed {
    fn card(&self, width: Option<u16>) -> String {
        let bold = Style::new().bold();
        let mut rows = table::bare(width);
        let mut row = |label: &str, text: &str| {
            rows.add_row([Cell::new(format!("  {label}")).add_attribute(Attribute::Dim), Cell::new(text)]);
        };
        row("world", &self.generation.to_string());
        row("from", self.source);
        row("key", &self.key);
        row("writes", &self.encoding);
        for option in &self.options {
            // Those of a dialect have a title of their own.
            let (label, text) = option.split_once(": ").unwrap_or(("option", option));
            row(label, text);
        }
        format!("{bold}{}{bold:#}\n{}", self.name, table::text(rows))
    }
}
