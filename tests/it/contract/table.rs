//! What is expected, as text:
//!
//! ```text
//! # The lock of some article.
//! php-getset
//!   free     SETNX k 4000000010; EXPIRE k 10 => won
//!   release  TTL k; DEL k => freed, nothing is left
//! ```
//!
//! A scene is one line, or goes on in lines that are indented further. `k` is the key; `<alice>`, `<bob-uuid>` stand for
//! the owners' tokens; `script` is an EVALSHA, and the EVAL that follows NOSCRIPT; `eval` is an EVAL at once;
//! `>` marks the script's own calls.

use super::scene::SCENES;

/// The expectations of some protocols.
pub(super) struct Table {
    protocols: Vec<Protocol>,
}

struct Protocol {
    name: String,
    scenes: Vec<(String, String)>,
}

impl Table {
    /// Reads such a text.
    pub(super) fn read(text: &str) -> Self {
        let mut protocols: Vec<Protocol> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let indent = line.len() - line.trim_start().len();
            match (indent, protocols.last_mut()) {
                (0, _) => protocols.push(Protocol { name: line.to_owned(), scenes: Vec::new() }),
                (2, Some(protocol)) => {
                    let (scene, expected) = line.trim().split_once(' ').expect("a scene and what is expected");
                    protocol.scenes.push((scene.to_owned(), expected.trim().to_owned()));
                }
                (_, Some(protocol)) => {
                    let (_, expected) = protocol.scenes.last_mut().expect("a scene to go on with");
                    *expected = format!("{expected} {}", line.trim());
                }
                (_, None) => panic!("a scene of no protocol: {line}"),
            }
        }
        Self { protocols }
    }

    /// The protocols in the table.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.protocols.iter().map(|protocol| protocol.name.as_str())
    }

    /// What is expected of `protocol` in `scene`.
    pub(super) fn expectation(&self, protocol: &str, scene: &str) -> &str {
        let rows = self.protocols.iter().filter(|row| row.name == protocol).flat_map(|row| &row.scenes);
        let mut expected = rows.filter(|(name, _)| name == scene).map(|(_, expected)| expected.as_str());
        expected.next().unwrap_or("the table has no such scene")
    }

    /// Panics if the table has a protocol that is not among `names`, or a scene that is never played.
    pub(super) fn assert_names_only<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let names: Vec<_> = names.collect();
        for Protocol { name, scenes } in &self.protocols {
            assert!(names.contains(&name.as_str()), "the table has {name}, which does not exist");
            for (scene, _) in scenes {
                let played = SCENES.iter().any(|known| known.name == scene);
                assert!(played, "{name}: the table has the scene {scene}, which is never played");
            }
        }
    }
}
