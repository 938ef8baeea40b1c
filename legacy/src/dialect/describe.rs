//! A row as text, for tables and reports.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Candidate, Dialect, Keys, Loser, Refresh, Takeover, Ttl};

impl Dialect {
    /// The value in the key: `<stamp>-<pid>: decimal s, now + lease + 1s`.
    pub fn encoding(&self) -> String {
        let form = self.form.to_string();
        match self.keys {
            Keys::One => form,
            Keys::OwnerAndExpiry => format!("{form} in lock:owner:NAME, {} in lock:expire:NAME", self.form.stamp),
        }
    }

    /// Its steps, one axis each: `release: DEL unless TTL is 0`. Axes that most rows share are left out.
    pub fn options(&self) -> Vec<String> {
        let mut options = Vec::from([format!("claim: {}", self.claim)]);
        if let Some(look) = &self.look {
            options.push(format!("look: {look}"));
        }
        if self.takeover != Takeover::Never {
            options.push(format!("takeover: {}", self.takeover));
        }
        if self.look.is_some() && self.candidate != Candidate::Same {
            options.push(format!("candidate: {}", self.candidate));
        }
        if self.loser == Loser::WritesBack {
            options.push("loser: SETs the old value again".to_string());
        }
        if self.ttl != Ttl::NONE {
            options.push(format!("ttl: {}", self.ttl));
        }
        if self.refresh != Refresh::Never {
            options.push(format!("refresh: {}", self.refresh));
        }
        options.push(format!("release: {}", self.release));
        options.push(format!("clock: {}", self.clock));
        options.push(format!("retry: {}", self.retry));
        options.push(format!("errors: {}", self.on_error));
        options
    }
}
