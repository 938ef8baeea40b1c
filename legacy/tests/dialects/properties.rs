//! What every row writes, it reads itself; nothing overflows, nothing panics.

use std::time::Duration;

use lockshift_legacy::catalogue::catalogue;
use lockshift_legacy::{Dialect, Digits, Keys, Lock, Number, Reader, Takeover};
use lockshift_lock::{Acquired, Lease, Locker, Owner, Refusal, Token};
use lockshift_wire::{Command, Key, MonoTime, Procedure, Reading, Reply, Script, Transcript, Unfinished, UnixTime};
use proptest::prelude::*;

const SETNX_EXPIRE: Script = Script::new(include_str!("../../src/lua/setnx_expire.lua"));

/// A server with one key, which only the one client touches; what it writes is forgotten.
struct Server {
    wall: UnixTime,
    key: Option<Vec<u8>>,
    queues: bool,
}

impl Server {
    fn answer(&mut self, command: &Command) -> Reply {
        let only_if_missing = command.args().iter().skip(2).any(|word| word == b"NX");
        match command.name() {
            b"EXEC" => Reply::Array(vec![Reply::ok()]),
            _ if self.queues => Reply::Status("QUEUED".to_string()),
            b"EXISTS" => Reply::Int(self.key.is_some().into()),
            b"GET" | b"GETSET" => self.key.as_ref().map_or(Reply::Nil, Reply::bulk),
            b"DEL" => Reply::Int(self.key.take().is_some().into()),
            b"SETNX" => Reply::Int(self.key.is_none().into()),
            b"SET" if only_if_missing && self.key.is_some() => Reply::Nil,
            // Lua's `false`, or its 0.
            b"EVALSHA" if self.key.is_some() && command.args()[0] == SETNX_EXPIRE.sha1_hex().as_bytes() => Reply::Nil,
            b"EVALSHA" => Reply::Int(self.key.is_none().into()),
            b"MULTI" => {
                self.queues = true;
                Reply::ok()
            }
            b"SET" | b"SETEX" | b"WATCH" | b"UNWATCH" => Reply::ok(),
            b"TIME" => {
                let part = |number: i64| Reply::bulk(number.to_string());
                let micros = self.wall.as_nanos().rem_euclid(1_000_000_000) / 1_000;
                Reply::Array(vec![part(self.wall.as_secs()), part(micros)])
            }
            _ => Reply::Int(1),
        }
    }
}

/// A try at `wall` for a key that holds `value`; `None` if it goes on and on.
fn try_at(lock: &Lock, owner: &Owner, wall: UnixTime, value: &[u8]) -> Option<Acquired> {
    let mono = MonoTime::since_origin(wall.saturating_since(UnixTime::from_nanos(0)));
    let mut server = Server { wall, key: Some(value.to_vec()), queues: false };
    let mut questions = 0..64;
    let answer = |command: &Command| questions.next().map(|_| server.answer(command));
    match (|redis: &mut Transcript| lock.acquire(owner, redis)).run_at(Reading { wall, mono }, answer) {
        Ok(acquired) => Some(acquired),
        Err(Unfinished::Unanswered) => None,
        Err(Unfinished::Fault(fault)) => panic!("{}: {fault}", lock.dialect().name),
    }
}

/// Rows whose clients look at a stamp in one key: the others cannot tell live from expired.
fn lookers() -> impl Iterator<Item = &'static Dialect> {
    catalogue().filter(|row| row.look.is_some() && row.form.is_stamped() && row.keys == Keys::One)
}

/// Whether a client of this row ever takes over an expired lock.
fn takes_over(row: &Dialect) -> bool {
    row.takeover != Takeover::Raises && row.reader() != Some(Reader::Python2Uncast)
}

proptest! {
    #[test]
    fn what_a_row_writes_is_live_now_and_expired_after_lease_and_margin(
        now_ns in 1_000_000_000_000_000_000_i64..2_000_000_000_000_000_000,
        lease_ms in 2_000_u64..=3_153_600_000_000,
        token in any::<[u8; 16]>(),
    ) {
        let now = UnixTime::from_nanos(now_ns);
        let holder = Owner::new(Token::new(token), 1, 2);
        let other = Owner::new(Token::new([0xee; 16]), 3, 4);
        for row in lookers() {
            let lock = Lock::new(row, Key::from("k"), Lease::new(Duration::from_millis(lease_ms)).expect("a lease"));
            let lease = lock.lease().length();
            let value = row.form.write(row.form.stamp.at(now, lease), &holder);
            let live = try_at(&lock, &other, now, &value);
            prop_assert!(matches!(&live, Some(Acquired::Held(held)) if held.reason == Refusal::Live), "{}: {live:?}", row.name);
            // A second for each rounding: of the stamp, and of the clock that it is compared with.
            let over = now.saturating_add(lease + row.form.stamp.margin + Duration::from_secs(2));
            let later = try_at(&lock, &other, over, &value);
            prop_assert_eq!(matches!(later, Some(Acquired::Won(_))), takes_over(row), "{}: {:?}", row.name, later);
        }
    }

    #[test]
    fn a_form_reads_back_what_it_has_written(
        now_ns in 1_000_000_000_000_000_000_i64..2_000_000_000_000_000_000,
        lease_ms in 1_u64..=3_153_600_000_000,
        (token, pid, thread) in any::<([u8; 16], u32, u64)>(),
    ) {
        let owner = Owner::new(Token::new(token), pid, thread);
        for row in catalogue().filter(|row| row.form.is_stamped()) {
            let number = row.form.stamp.at(UnixTime::from_nanos(now_ns), Duration::from_millis(lease_ms));
            let value = row.form.write(number, &owner);
            let read = row.form.read(&value);
            prop_assert!(read.is_some(), "{}: {}", row.name, value.escape_ascii());
            prop_assert_eq!(row.form.write(read.expect("just seen"), &owner), value, "{}", row.name);
        }
    }

    #[test]
    fn digits_read_back_every_float_that_they_have_written(
        float in prop_oneof![any::<f64>(), -1e17..1e17, -1e-3..1e-3].prop_filter("of the size of a float", |x| x.abs() < 1e300),
    ) {
        for digits in [Digits::Python2Str, Digits::PythonRepr, Digits::RubyToS, Digits::Fixed6, Digits::Php14] {
            let text = digits.write(Number::Float(float));
            let read = digits.read(&text);
            prop_assert!(read.is_some(), "{:?}: {}", digits, text.escape_ascii());
            prop_assert_eq!(digits.write(read.expect("just seen")), text, "{:?}", digits);
        }
    }

    #[test]
    fn no_clock_no_lease_and_no_value_makes_a_row_panic(
        now_ns in any::<i64>(),
        lease_ms in 1_u64..=3_153_600_000_000,
        value in prop_oneof![proptest::collection::vec(any::<u8>(), 0..48), "-?([0-9]{1,60}([.e][0-9]{1,3})?|inf|nan|infinity)".prop_map(String::into_bytes)],
    ) {
        let owner = Owner::new(Token::new([7; 16]), u32::MAX, u64::MAX);
        for row in catalogue() {
            prop_assert!(row.form.read(&value).is_none() || row.form.matches(&value), "{}", row.name);
        }
        for row in catalogue().filter(|row| row.keys == Keys::One) {
            let lock = Lock::new(row, Key::from("k"), Lease::new(Duration::from_millis(lease_ms)).expect("a lease"));
            if let Some(Acquired::Won(hold)) = try_at(&lock, &owner, UnixTime::from_nanos(now_ns), &value) {
                prop_assert_eq!(hold.lease, lock.lease(), "{}", row.name);
            }
        }
    }
}
