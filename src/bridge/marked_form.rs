//! The form that lets a bridge recognise its own stamp: with a zero that every reader ignores and no old client writes.

use crate::legacy::{self, Digits, Form, Part};

const ZERO: Part = Part::Text("0");

/// The forms in which bridges mark their stamps, one for each dialect that needs it.
pub(crate) fn marked_forms() -> impl Iterator<Item = Form> {
    legacy::catalogue::catalogue().filter_map(|dialect| marked(dialect.form))
}

/// The form with a zero where it does not change the meaning: before the digits of a number, or after its bytes. `None` if the
/// form does not need it because it names the acquisition that wrote it.
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
