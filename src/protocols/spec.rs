//! An unparsed protocol specification: a name followed by options, not yet validated.

use std::convert::Infallible;
use std::str::FromStr;

/// A protocol specification: `token`, `token,expiry=exat`, `php-getset,lease=2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The protocol's name.
    pub name: String,
    options: Vec<(String, String)>,
}

impl Spec {
    /// Removes an option and returns its value. The caller handles it, so that validation does not see it.
    pub fn take(&mut self, option: &str) -> Option<String> {
        let index = self.options.iter().position(|(name, _)| name == option)?;
        Some(self.options.remove(index).1)
    }

    /// The remaining options, with their values.
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
fn a_name_and_its_options_are_separated() {
    let Ok(mut spec) = "token,expiry=exat,lease=2".parse::<Spec>();
    assert_eq!(spec.name, "token");
    assert_eq!(spec.take("lease"), Some("2".to_owned()));
    assert_eq!(spec.take("lease"), None);
    assert_eq!(spec.options(), [("expiry".to_owned(), "exat".to_owned())]);
}
