//! What a key can hold.

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A string of any bytes.
    Text(Vec<u8>),
}

impl Value {
    /// The name that TYPE answers.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
        }
    }
}

/// One of the shapes that a [`Value`] can have.
pub(super) trait Shape: Sized {
    /// The value, if it has this shape.
    fn of(value: &Value) -> Option<&Self>;
}

impl Shape for Vec<u8> {
    fn of(value: &Value) -> Option<&Self> {
        match value {
            Value::Text(bytes) => Some(bytes),
        }
    }
}
