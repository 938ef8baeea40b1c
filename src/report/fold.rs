//! Sentences that are longer than the terminal is wide: broken between words.

use textwrap::core::display_width;
use textwrap::{Options, WordSplitter};

/// The text with its long sentences folded. Lines of a table, whose columns are two spaces apart, stay as they are: a table
/// has found its own width.
pub fn folded(text: &str, width: u16) -> String {
    let width = usize::from(width);
    let mut folded = String::with_capacity(text.len());
    for line in text.lines() {
        if display_width(line) <= width || line.trim_start().contains("  ") {
            folded += line;
        } else {
            let indent = &line[..line.len() - line.trim_start().len()];
            let options = Options::new(width)
                .subsequent_indent(indent)
                .word_splitter(WordSplitter::NoHyphenation)
                .break_words(false);
            folded += &textwrap::wrap(line, options).join("\n");
        }
        folded.push('\n');
    }
    folded
}

#[test]
fn sentences_are_folded_between_words_and_tables_are_not() {
    let table = "KEY   WRITTEN BY   ENDS   HAZARDS\n";
    assert_eq!(folded(table, 20), table);
    assert_eq!(folded("a sentence of many words\n", 12), "a sentence\nof many\nwords\n");
    assert_eq!(folded("  an indented sentence\n", 14), "  an indented\n  sentence\n");
    assert_eq!(
        folded("\u{1b}[2mfaint words\u{1b}[0m\n", 11),
        "\u{1b}[2mfaint words\u{1b}[0m\n",
        "escapes have no width"
    );
    assert_eq!(folded("short\n\nunbreakably-long\n", 5), "short\n\nunbreakably-long\n");
}
