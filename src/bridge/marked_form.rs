//! The mark by which a bridge knows its stamp again: a zero that every reader passes over and no old client writes.

use crate::legacy::{Digits, Form, Part};

const ZERO: Part = Part::Text("0");

/// The form with a zero where it changes nothing: before the digits of a number, behind the bytes of one. `None` where there
/// is no need, the form naming the one acquisition that wrote it.
pub(super) fn marked(form: Form) -> Option<Form> {
    let parts: &'static [Part] = match (form.stamp.digits, form.parts) {
        (Digits::BigEndian | Digits::LittleEndian, [Part::Stamp]) => &[Part::Stamp, ZERO],
        (_, [Part::Stamp]) => &[ZERO, Part::Stamp],
        (_, [Part::Stamp, Part::Text(":"), Part::Pid]) => &[ZERO, Part::Stamp, Part::Text(":"), Part::Pid],
        (_, [Part::Stamp, Part::Text("-"), Part::Pid]) => &[ZERO, Part::Stamp, Part::Text("-"), Part::Pid],
        (_, [Part::Stamp, Part::Text("-"), Part::Pid, Part::Text("-"), Part::Thread]) => {
            &[ZERO, Part::Stamp, Part::Text("-"), Part::Pid, Part::Text("-"), Part::Thread]
        }
        _ => return None,
    };
    Some(Form { parts, ..form })
}
