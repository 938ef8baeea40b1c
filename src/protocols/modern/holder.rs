//! The holders of a lock that is a hash or a sorted set, and how often each has entered.

use crate::lock::Mode;
use crate::wire::UnixTime;

/// A holder of a lock that is a hash or a sorted set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its name: `<uuid>:<thread>`, or the token of a permit.
    pub owner: String,
    /// Whether it shares the lock.
    pub mode: Mode,
    /// How often it has entered.
    pub entries: u64,
    /// When its lease ends by the server's clock, where the key says so.
    pub ends_at: Option<UnixTime>,
}

/// A field with its value, or a member with its score.
pub(super) type Field = (Vec<u8>, Vec<u8>);

/// The holders of a semaphore, if these are the members of one: tokens, each with the millisecond at which its lease ends.
pub(super) fn permits(members: &[Field], is_token: impl Fn(&[u8]) -> bool) -> Option<Vec<Holder>> {
    let permit = |(token, end): &Field| {
        let ends_at = UnixTime::from_millis(str::from_utf8(end).ok().filter(|_| is_millis(end))?.parse().ok()?)?;
        let owner = String::from_utf8(token.clone()).ok().filter(|_| is_token(token))?;
        Some(Holder { owner, mode: Mode::Shared, entries: 1, ends_at: Some(ends_at) })
    };
    members.iter().map(permit).collect::<Option<Vec<_>>>().filter(|holders| !holders.is_empty())
}

/// The layout of a lock's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One field, named after the owner, which counts its entries.
    Owner,
    /// The same, or a field that is named after a thread alone, `thread-1`: two machines can have the same.
    OwnerOrThread,
    /// The field `mode`, and one for each owner; that of a writer ends with `:write`.
    ModeAndOwners,
    /// `read`, `write` or both: the millisecond of the last acquisition. No owner is named.
    Stamps,
}

impl Layout {
    /// The holders, if the hash has this layout.
    pub(super) fn holders(self, fields: &[Field]) -> Option<Vec<Holder>> {
        match (self, fields) {
            (_, []) => None,
            (Self::Owner, [(owner, entries)]) => Some(vec![holder(owner, entries, Mode::Exclusive)?]),
            (Self::OwnerOrThread, [(owner, entries)]) => {
                let holder = holder(owner, entries, Mode::Exclusive).or_else(|| thread(owner, entries));
                Some(vec![holder?])
            }
            (Self::Owner | Self::OwnerOrThread, _) => None,
            (Self::ModeAndOwners, fields) => {
                let (mode, owners): (Vec<_>, Vec<_>) = fields.iter().partition(|(name, _)| name == b"mode");
                let is_mode = matches!(mode.as_slice(), [(_, word)] if word == b"read" || word == b"write");
                let holders = owners.into_iter().map(|(name, entries)| reader_or_writer(name, entries));
                holders.collect::<Option<Vec<_>>>().filter(|holders| is_mode && !holders.is_empty())
            }
            (Self::Stamps, fields) => {
                let is_side = |name: &[u8]| name == b"read" || name == b"write";
                fields.iter().all(|(name, stamp)| is_side(name) && is_millis(stamp)).then(Vec::new)
            }
        }
    }
}

/// Whether it is a moment of these times, in decimal milliseconds.
fn is_millis(stamp: &[u8]) -> bool {
    stamp.len() == 13 && stamp.iter().all(u8::is_ascii_digit)
}

fn reader_or_writer(name: &[u8], entries: &[u8]) -> Option<Holder> {
    match name.strip_suffix(b":write") {
        Some(owner) => holder(owner, entries, Mode::Exclusive),
        None => holder(name, entries, Mode::Shared),
    }
}

fn holder(owner: &[u8], entries: &[u8], mode: Mode) -> Option<Holder> {
    let (uuid, thread) = owner.split_at_checked(36)?;
    let is_uuid = uuid.iter().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
    });
    let is_thread =
        matches!(thread, [b':', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit));
    let owner = String::from_utf8(owner.to_vec()).ok()?;
    (is_uuid && is_thread).then_some(Holder { owner, mode, entries: counted(entries)?, ends_at: None })
}

/// A holder that is named after its thread.
fn thread(owner: &[u8], entries: &[u8]) -> Option<Holder> {
    let number = owner.strip_prefix(b"thread-")?;
    let is_number = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    let owner = String::from_utf8(owner.to_vec()).ok()?;
    is_number.then_some(Holder { owner, mode: Mode::Exclusive, entries: counted(entries)?, ends_at: None })
}

fn counted(entries: &[u8]) -> Option<u64> {
    str::from_utf8(entries).ok()?.parse().ok().filter(|entries| *entries > 0)
}

#[test]
fn a_hash_is_recognised_by_its_fields() {
    const UUID: &str = "5a5a5a5a-5a5a-4a5a-8a5a-5a5a5a5a5a5a";
    let holders_of = |layout: Layout, fields: &[(&str, &str)]| {
        let fields: Vec<Field> = fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let holders = layout.holders(&fields)?;
        Some(holders.iter().map(|it| format!("{} {:?} {}", &it.owner[36..], it.mode, it.entries)).collect::<Vec<_>>())
    };
    let (owner, writer, other) = (format!("{UUID}:7"), format!("{UUID}:7:write"), format!("{UUID}:18"));
    let some = |holders: &[&str]| Some(holders.iter().map(|holder| (*holder).to_owned()).collect::<Vec<_>>());
    assert_eq!(holders_of(Layout::Owner, &[(&owner, "2")]), some(&[":7 Exclusive 2"]));
    let both = [("mode", "write"), (writer.as_str(), "1"), (owner.as_str(), "3")];
    assert_eq!(holders_of(Layout::ModeAndOwners, &both), some(&[":7 Exclusive 1", ":7 Shared 3"]));
    assert_eq!(holders_of(Layout::Stamps, &[("read", "1700000000123"), ("write", "1700000000123")]), some(&[]));

    assert_eq!(Layout::OwnerOrThread.holders(&[(b"thread-1".to_vec(), b"2".to_vec())]).unwrap()[0].owner, "thread-1");
    for name in ["thread-", "thread-a", "thread", "threads-1"] {
        assert_eq!(Layout::OwnerOrThread.holders(&[(name.into(), b"1".to_vec())]), None, "{name}");
    }

    let neither: [&[(&str, &str)]; 7] = [
        &[],
        &[("apples", "3")],
        &[(&owner, "0")],
        &[(&owner, "x")],
        &[(&owner, "1"), (&other, "1"), ("pears", "1")],
        &[("mode", "read")],
        &[("mode", "dark"), (&owner, "1")],
    ];
    for fields in neither {
        for layout in [Layout::Owner, Layout::OwnerOrThread, Layout::ModeAndOwners, Layout::Stamps] {
            assert_eq!(holders_of(layout, fields), None, "{layout:?} {fields:?}");
        }
    }
}
