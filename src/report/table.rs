//! Tables as this house sets them: a bold head, no lines, two spaces between columns.

use comfy_table::{Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, Width, presets};

/// The widest a table becomes on a wide screen: beyond that the eye loses the line.
const WIDEST: u16 = 100;

/// Longer words are broken where there is no room for them.
const LONGEST_WORD: u16 = 24;

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
    let words: Vec<u16> = (0..=last).map(|index| longest_word(&table, index)).collect();
    let widest_name = table.width().map_or(words[0], |width| width / 2);
    let name = words[0].min(widest_name);
    let room = table.width().map_or(u16::MAX, |width| width.saturating_sub(name).saturating_sub(2 * last as u16));
    let bounds = bounds(&words[1..], room);
    for (index, column) in table.column_iter_mut().enumerate() {
        let padding = if index == last { 0 } else { 2 };
        column.set_padding((0, padding));
        column.set_constraint(match index {
            // One name that is longer than half of the screen must not take the room of everything else.
            0 if words[0] > widest_name => ColumnConstraint::Absolute(Width::Fixed(widest_name + padding)),
            // A name that is broken in two can neither be read nor copied.
            0 => ColumnConstraint::ContentWidth,
            // No word is broken, as far as there is room. Padding counts as part of the width.
            _ => ColumnConstraint::LowerBoundary(Width::Fixed(bounds[index - 1] + padding)),
        });
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// How wide columns with words of these lengths are at least, so that all fit into this room.
fn bounds(words: &[u16], room: u16) -> Vec<u16> {
    const NARROWEST: u16 = 4;
    let mut bounds: Vec<u16> = words.iter().map(|word| (*word).min(LONGEST_WORD)).collect();
    while bounds.iter().map(|bound| u32::from(*bound)).sum::<u32>() > u32::from(room) {
        let Some(widest) = bounds.iter_mut().max().filter(|widest| **widest > NARROWEST) else { break };
        *widest -= 1;
    }
    bounds
}

/// How long the longest word in this column is.
fn longest_word(table: &Table, column: usize) -> u16 {
    let rows = table.header().into_iter().chain(table.row_iter());
    let cells = rows.filter_map(|row: &Row| row.cell_iter().nth(column)).map(Cell::content);
    let longest = cells.flat_map(|text| text.split_whitespace().map(textwrap::core::display_width).max()).max();
    u16::try_from(longest.unwrap_or(0)).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_broken_where_there_is_room_for_the_longest_of_each_column() {
        let head = ["LOCK", "ACQUIRED", "REFUSED", "OVERRUN", "HELD P50", "P99", "WAIT P50", "P99", "SPOKEN"];
        let row = ["invoices", "31", "99", "1", "152 ms", "3211 ms", "104 ms", "4129 ms", "php-getset, php7-getset"];
        for width in 75..=100 {
            let mut table = table(&head, Some(width));
            table.add_row(row);
            let text = text(table);
            let bare = anstream::adapter::strip_str(&text).to_string();
            for word in head.iter().chain(&row).flat_map(|cell| cell.split_whitespace()) {
                assert!(bare.contains(word), "{word} at {width} columns:\n{bare}");
            }
        }
    }

    #[test]
    fn words_stay_whole_beside_a_long_text() {
        let mut table = table(&["NAME", "VERDICT", "REASON"], Some(60));
        table.add_row(["php-getset", "overtakes", &"some words about the reason ".repeat(10)]);
        let text = text(table);
        assert!(text.contains("VERDICT") && text.contains("overtakes"), "{text}");
        assert!(text.lines().all(|line| textwrap::core::display_width(line) <= 60), "{text}");
        for word in text.lines().skip(1).flat_map(str::split_whitespace).skip(2) {
            assert!(["some", "words", "about", "the", "reason"].contains(&word), "{word} in\n{text}");
        }
    }

    #[test]
    fn many_long_words_do_not_make_it_wider_than_the_terminal() {
        let words = ["twenty-two-letters-long", "twenty-two-letters-long", "twenty-two-letters-long"];
        let mut table = table(&["NAME", "KEY", "WRITES", "FROM"], Some(80));
        table.add_row(["a-name-of-thirty-letters-length"].into_iter().chain(words));
        let text = text(table);
        assert!(text.lines().all(|line| textwrap::core::display_width(line) <= 80), "{text}");
        assert!(text.contains("a-name-of-thirty-letters-length"), "{text}");
    }

    #[test]
    fn a_long_key_leaves_room_for_the_other_columns() {
        let mut table = table(&["KEY", "WRITTEN BY", "TTL"], Some(80));
        table.add_row([&"k".repeat(600), "php-getset", "12 s"]);
        let text = text(table);
        assert!(text.contains("php-getset") && text.contains("12 s"), "{text}");
        assert!(text.lines().all(|line| textwrap::core::display_width(line) <= 80), "{text}");
        assert_eq!(text.matches('k').count(), 600, "all of it is there");
    }
}
