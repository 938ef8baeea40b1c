//! What was written for a protocol: a name, and options behind it. Not yet what it means.

use std::convert::Infallible;
use std::str::FromStr;

/// What was written for a protocol: `token`, `token,expiry=exat`, `php-getset,lease=2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The protocol's name.
    pub name: String,
    options: Vec<(String, String)>,
}

impl Spec {
    /// Takes an option out, so that whoever knows it can use it and nobody else stumbles over it.
    pub fn take(&mut self, option: &str) -> Option<String> {
        let index = self.options.iter().position(|(name, _)| name == option)?;
        Some(self.options.remove(index).1)
    }

    /// The options that nobody has taken, with their values.
    pub fn options(&self) -> &[(String, String)] {
        &self.options
    }
}

impl FromStr for Spec {
    type Err = Infallible;

    fn from_str(written: &str) -> Result<Self, Infallible> {
        let mut words = written.split(',');
        let name = words.next().unwrap_or_default().trim().to_owned();
        let option = |word: &str| {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            (name.trim().to_owned(), value.trim().to_owned())
        };
        Ok(Self { name, options: words.map(option).collect() })
    }
}

#[test]
fn a_name_with_options_behind_it() {
    let Ok(mut spec) = "token,expiry=exat,lease=2".parse::<Spec>();
    assert_eq!(spec.name, "token");
    assert_eq!(spec.take("lease"), Some("2".to_owned()));
    assert_eq!(spec.take("lease"), None);
    assert_eq!(spec.options(), [("expiry".to_owned(), "exat".to_owned())]);
}
