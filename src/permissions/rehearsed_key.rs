//! The keys for which permissions are derived: one name, or a pattern of names that may have a hash tag or not.

use crate::wire::Key;

/// Stands for the key in the rehearsal that tells which words of a command are keys: it is recognised in every key that the
/// protocol derives.
pub(super) const MARK: &str = "marked-key-of-the-rehearsal";

/// A name on which a protocol is rehearsed, and how the names that it derives from it are written as patterns.
#[derive(Clone, Debug)]
pub(super) struct RehearsedKey {
    name: String,
    /// What is written in place of parts of the derived names, in this order.
    written: Vec<(String, String)>,
}

impl RehearsedKey {
    /// The name itself, if it is one. For a pattern, a name of each kind that may match it and from which a lock derives keys in
    /// a way of its own: see [`Key::sibling`].
    pub(super) fn all_of(pattern: &str) -> Vec<Self> {
        let begin = pattern.find(['*', '?', '[', '\\']).map(|end| &pattern[..end]);
        let Some(begin) = begin else {
            return vec![Self { name: pattern.to_owned(), written: Vec::new() }];
        };
        let tagged = Self::standing_for(pattern, "{t}", None);
        if has_hash_tag(begin) {
            return vec![tagged];
        }
        // A name without a hash tag is wrapped in braces, unless it has a closing one: then a tag is put before it.
        let untagged = match pattern.contains('}') {
            true => Self::standing_for(pattern, "}", Some(format!("{{*}}{pattern}"))),
            false => Self::standing_for(pattern, "", None),
        };
        vec![untagged, tagged]
    }

    /// A name of the kind that this beginning makes; where another one is put before it, it is written so.
    fn standing_for(pattern: &str, begin: &str, with_tag: Option<String>) -> Self {
        let name = format!("{begin}{}", MARK);
        let sibling = String::from_utf8_lossy(Key::from(name.as_str()).sibling("").as_bytes()).into_owned();
        let tagged = with_tag.map(|written| (sibling.trim_end_matches(':').to_owned(), written));
        let written = tagged.into_iter().chain([(name.clone(), pattern.to_owned())]).collect();
        Self { name, written }
    }

    /// The name to rehearse on.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// A name that derives from the rehearsed one, as a pattern. For a byte that no pattern of an ACL may have, such as the length
    /// that some serializers write, stands any byte; so it does for one that would be read as part of a pattern.
    pub(super) fn pattern_of(&self, name: &[u8]) -> String {
        let plain = |letter: char| match letter {
            '*' | '?' | '[' | '\\' => '?',
            letter if letter.is_ascii_control() => '?',
            letter => letter,
        };
        let text: String = match std::str::from_utf8(name) {
            Ok(name) => name.chars().map(plain).collect(),
            Err(_) => name.iter().map(|byte| if byte.is_ascii() { plain(char::from(*byte)) } else { '?' }).collect(),
        };
        self.written.iter().fold(text, |text, (rehearsed, written)| text.replace(rehearsed, written))
    }
}

/// Whether every name that begins so has a hash tag.
fn has_hash_tag(begin: &str) -> bool {
    Key::from(begin).sibling("").as_bytes().strip_suffix(b":") == Some(begin.as_bytes())
}
