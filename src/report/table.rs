//! Tables as this house sets them: a bold head, no lines, two spaces between columns.

use comfy_table::{Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

/// The widest a table becomes on a wide screen: beyond that the eye loses the line.
const WIDEST: u16 = 100;

/// A table with this head.
pub(super) fn table(head: &[&str], width: Option<u16>) -> Table {
    let mut table = bare(width);
    table.set_header(head.iter().map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
    table
}

/// A table without a head.
pub(super) fn bare(width: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).enforce_styling();
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.min(WIDEST));
    }
    table
}

/// Sets these columns flush right, as numbers are.
pub(super) fn flush_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The text of the table, a line feed behind each line.
pub(super) fn text(mut table: Table) -> String {
    let last = table.column_count().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index == last { 0 } else { 2 }));
        if index == 0 {
            // A name that is broken in two can neither be read nor copied.
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}
