//! Commands, replies and keys in JSON: bytes as text that shows and restores every one of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::wire::{Command, Key, Node, Printable, Reply};

/// Bytes as `redis-cli` shows them: `\x00`, `\n`, `\"`.
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Text(#[cfg_attr(test, schemars(with = "String"))] Vec<u8>);

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Printable(&self.0))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let shown = String::deserialize(deserializer)?;
        unshow(&shown).map(Self).ok_or_else(|| D::Error::custom(format_args!("not bytes as shown: {shown}")))
    }
}

/// The bytes that [`Printable`] shows so.
fn unshow(shown: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(shown.len());
    let mut rest = shown.bytes();
    while let Some(byte) = rest.next() {
        let plain = match byte {
            b'\\' => match rest.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'a' => 0x07,
                b'b' => 0x08,
                b'x' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
                quoted @ (b'\\' | b'"') => quoted,
                _ => return None,
            },
            b' '..=b'~' => byte,
            _ => return None,
        };
        bytes.push(plain);
    }
    Some(bytes)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// A command: the list of its words; for any server but the first, beside the server's place.
pub(crate) mod command {
    use super::*;

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Spoken {
        First(Vec<Text>),
        Further { server: u8, words: Vec<Text> },
    }

    pub(crate) fn serialize<S: Serializer>(command: &Command, serializer: S) -> Result<S::Ok, S::Error> {
        let words = command.words().iter().map(|word| Text(word.to_vec())).collect();
        let spoken = match command.node() {
            Node(0) => Spoken::First(words),
            Node(server) => Spoken::Further { server, words },
        };
        spoken.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Command, D::Error> {
        let (server, words) = match Spoken::deserialize(deserializer)? {
            Spoken::First(words) => (0, words),
            Spoken::Further { server, words } => (server, words),
        };
        let command = Command::from_words(words.into_iter().map(|word| word.0));
        Ok(command.ok_or_else(|| D::Error::custom("a command has a name"))?.on(Node(server)))
    }
}

/// Keys: a list of names.
pub(crate) mod keys {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(keys: &[Key], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(keys.iter().map(|key| Text(key.as_bytes().to_vec())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Key>, D::Error> {
        Ok(Vec::<Text>::deserialize(deserializer)?.into_iter().map(|name| Key::new(name.0)).collect())
    }
}

/// A key: its name.
pub(crate) mod key {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(key: &Key, serializer: S) -> Result<S::Ok, S::Error> {
        Text(key.as_bytes().to_vec()).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        Ok(Key::new(Text::deserialize(deserializer)?.0))
    }
}

/// A reply that may be unknown: then the field is absent.
pub(crate) mod known_reply {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(known: &Option<Reply>, serializer: S) -> Result<S::Ok, S::Error> {
        known.as_ref().map(ReplyJson::from).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Reply>, D::Error> {
        Ok(Some(ReplyJson::deserialize(deserializer)?.into()))
    }
}

/// A reply: `null`, a number, or an object that says what it is.
pub(crate) mod reply {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(reply: &Reply, serializer: S) -> Result<S::Ok, S::Error> {
        ReplyJson::from(reply).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Reply, D::Error> {
        Ok(ReplyJson::deserialize(deserializer)?.into())
    }
}

/// A reply: `null`, a number, or an object that says what it is.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum ReplyJson {
    Nil(()),
    Int(i64),
    Other(Shape),
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shape {
    Status(String),
    Bulk(Text),
    Array(Vec<ReplyJson>),
    Error(String),
}

impl From<&Reply> for ReplyJson {
    fn from(reply: &Reply) -> Self {
        match reply {
            Reply::Nil => Self::Nil(()),
            Reply::Int(number) => Self::Int(*number),
            Reply::Status(text) => Self::Other(Shape::Status(text.clone())),
            Reply::Bulk(bytes) => Self::Other(Shape::Bulk(Text(bytes.clone()))),
            Reply::Array(items) => Self::Other(Shape::Array(items.iter().map(Self::from).collect())),
            Reply::Error(text) => Self::Other(Shape::Error(text.clone())),
        }
    }
}

impl From<ReplyJson> for Reply {
    fn from(reply_json: ReplyJson) -> Self {
        match reply_json {
            ReplyJson::Nil(()) => Self::Nil,
            ReplyJson::Int(number) => Self::Int(number),
            ReplyJson::Other(Shape::Status(text)) => Self::Status(text),
            ReplyJson::Other(Shape::Bulk(Text(bytes))) => Self::Bulk(bytes),
            ReplyJson::Other(Shape::Array(items)) => Self::Array(items.into_iter().map(Self::from).collect()),
            ReplyJson::Other(Shape::Error(text)) => Self::Error(text),
        }
    }
}
