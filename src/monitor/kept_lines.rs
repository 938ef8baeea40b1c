//! Lines that are kept beyond their text: copied from where they were read, one behind the other.

use std::ops::Range;

use super::line::{Line, LineWords, Source, WordSpan};
use crate::wire::UnixTime;

/// Lines in memory of their own. However many they are, they are one piece, which is sent to another thread at once.
#[derive(Debug, Default)]
pub(crate) struct KeptLines {
    text: Vec<u8>,
    spans: Vec<WordSpan>,
}

/// Where a line is among others that are kept.
#[derive(Clone, Debug)]
pub(crate) struct KeptLine {
    at: UnixTime,
    database: u32,
    /// The address of its client in the text; `None` for a call of a script.
    address: Option<Range<usize>>,
    spans: Range<usize>,
}

impl KeptLines {
    /// Keeps a line.
    pub(crate) fn keep(&mut self, line: &Line<'_>) -> KeptLine {
        let address = match line.source {
            Source::Client(address) => Some(self.append(address)),
            Source::Script => None,
        };
        let first = self.spans.len();
        match line.words {
            LineWords::Listed { text, spans } => {
                if let [first, ..] = spans
                    && let [.., last] = spans
                {
                    let kept = self.append(&text[first.begin..last.end]);
                    let moved = |at: usize| at - first.begin + kept.start;
                    let span = |it: &WordSpan| WordSpan { begin: moved(it.begin), end: moved(it.end), ..*it };
                    self.spans.extend(spans.iter().map(span));
                }
            }
            LineWords::Sent(words) => {
                for word in words {
                    let Range { start: begin, end } = self.append(word);
                    self.spans.push(WordSpan { begin, end, is_plain: true });
                }
            }
        }
        KeptLine { at: line.at, database: line.database, address, spans: first..self.spans.len() }
    }

    /// A line that is kept here.
    pub(crate) fn line(&self, kept: &KeptLine) -> Line<'_> {
        let source = kept.address.clone().map_or(Source::Script, |address| Source::Client(&self.text[address]));
        let words = LineWords::Listed { text: &self.text, spans: &self.spans[kept.spans.clone()] };
        Line { at: kept.at, database: kept.database, source, words }
    }

    /// How many bytes they have.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// How many bytes they have memory for.
    pub(crate) fn capacity(&self) -> usize {
        self.text.capacity() + self.spans.capacity() * size_of::<WordSpan>()
    }

    /// Keeps none of them, but their memory.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
    }

    fn append(&mut self, bytes: &[u8]) -> Range<usize> {
        let begin = self.text.len();
        self.text.extend_from_slice(bytes);
        begin..self.text.len()
    }
}

#[test]
fn a_line_that_is_kept_says_the_same() {
    use super::parser::Parser;
    use crate::wire::Command;

    let texts = [
        r#"1700000000.000001 [0 10.0.0.1:50] "SET" "lo\"ck" "\x00\xff" "NX""#,
        r#"1700000000.000002 [15 lua] "get" "lo\"ck""#,
        r#"1700000000.000003 [3 [::1]:6379] "PING""#,
    ];
    let mut kept = KeptLines::default();
    let mut parser = Parser::new();
    let mut places: Vec<KeptLine> =
        texts.iter().map(|text| kept.keep(&parser.parse(text.as_bytes()).unwrap())).collect();
    let sent = Command::new("GET").arg("a \"b\"");
    places.push(kept.keep(&Line::new(UnixTime::from_nanos(0), 0, Source::Client(b"a:1"), &sent)));
    for (text, place) in texts.iter().zip(&places) {
        assert_eq!(kept.line(place).to_string(), *text);
    }
    assert_eq!(kept.line(&places[3]).command(), sent);
}
