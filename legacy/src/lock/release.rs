//! Releasing a lock, each dialect by its own check.

use alloc::vec::Vec;
use core::time::Duration;

use lockshift_lock::{Hold, Released};
use lockshift_wire::{Command, Key, Reply, Transcript, Ttl, Turn};

use super::Lock;
use crate::{Check, Comparison, Looks, Number, Release, Script, scripts};

impl Lock {
    pub(super) fn release_one_key(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        match self.dialect.release {
            Release::Never => Ok(Released::LeftAlone),
            Release::Del => self.del(redis),
            Release::DelSerializedKey => redis.del(&java_serialized(&self.key)).map(freed_if),
            Release::WhileStampAhead { or_equal, grace } => {
                let ahead = self.is_own_ahead(hold, or_equal, grace, redis)?;
                self.del_if(ahead, redis)
            }
            Release::WithinLease => {
                let now = self.clock(redis)?.wall;
                self.del_if(now < hold.ends_at(), redis)
            }
            Release::UnlessTtlZero => {
                let ttl = redis.ttl(&self.key)?;
                self.del_if(ttl != Ttl(0), redis)
            }
            Release::IfValue(check) => self.get_and_del(check, hold, redis),
            Release::IfExistsAndValue(check) => match redis.exists(&self.key)? {
                true => self.get_and_del(check, hold, redis),
                false => Ok(Released::Lost),
            },
            Release::AfterGetset => self.getset_and_del(hold, redis),
            Release::IfEqualWatched => self.del_watched(hold, redis),
            Release::IfEqualUnderWatch => self.del_under_watch(hold, redis),
            Release::Script(script) => self.del_by_script(script, hold, redis),
        }
    }

    fn del(&self, redis: &mut Transcript) -> Turn<Released> {
        redis.del(&self.key).map(freed_if)
    }

    fn del_if(&self, passes: bool, redis: &mut Transcript) -> Turn<Released> {
        if passes { self.del(redis) } else { Ok(Released::LeftAlone) }
    }

    /// GET, and DEL if the value passes.
    fn get_and_del(&self, check: Check, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        match redis.get(&self.key)? {
            None => Ok(Released::Lost),
            Some(value) => {
                let passes = self.passes(check, &value, hold, redis)?;
                self.del_if(passes, redis)
            }
        }
    }

    fn passes(&self, check: Check, value: &[u8], hold: &Hold, redis: &mut Transcript) -> Turn<bool> {
        let form = &self.dialect.form;
        Ok(match check {
            Check::Present => true,
            Check::Ahead => self.is_ahead(value, redis)?,
            Check::Equal => value == hold.value,
            Check::EqualAndAhead => value == hold.value && self.is_own_ahead(hold, false, Duration::ZERO, redis)?,
            Check::NotBelowOwn => {
                matches!(self.compare(value, self.own_number(hold)), Comparison::Greater | Comparison::Equal)
            }
            Check::NotShortened => {
                let written = self.number(&hold.value).unwrap_or_else(|| self.own_number(hold));
                self.compare(value, written) != Comparison::Less || !self.is_ahead(value, redis)?
            }
            Check::Mine => form.same_owner(value, &hold.value),
            Check::MineAndAhead => self.is_ahead(value, redis)? && form.same_owner(value, &hold.value),
        })
    }

    /// GET, GETSET of a new stamp, DEL, as long as neither old value has expired.
    fn getset_and_del(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let at = self.clock(redis)?;
        let Some(value) = redis.get(&self.key)? else { return Ok(Released::Lost) };
        if self.looks(&value, at) == Looks::Expired {
            return Ok(Released::LeftAlone);
        }
        let stamp = self.dialect.form.stamp.at(self.now(self.clock(redis)?), self.lease.length());
        let new = self.dialect.form.restamp(&hold.value, stamp).unwrap_or_else(|| hold.value.clone());
        let Some(old) = redis.getset(&self.key, &new)? else { return Ok(Released::LeftAlone) };
        let at = self.clock(redis)?;
        self.del_if(self.looks(&old, at) != Looks::Expired, redis)
    }

    /// WATCH, GET, and a transaction around the DEL.
    fn del_watched(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        redis.watch(&self.key)?;
        if redis.get(&self.key)?.as_ref() != Some(&hold.value) {
            redis.unwatch()?;
            return Ok(Released::Lost);
        }
        let replies = redis.transaction(&[Command::new("DEL").arg(&self.key)])?;
        Ok(freed_if(replies == Some(alloc::vec![Reply::Int(1)])))
    }

    /// WATCH, GET, DEL, UNWATCH: the DEL is not part of a transaction.
    fn del_under_watch(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        redis.watch(&self.key)?;
        let is_ours = redis.get(&self.key)?.as_ref() == Some(&hold.value);
        let deleted = is_ours && redis.del(&self.key)?;
        redis.unwatch()?;
        Ok(freed_if(deleted))
    }

    fn del_by_script(&self, script: Script, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        match script {
            Script::JavaToken => scripts::del_if_get_equals(redis, &self.key, &hold.value).map(freed_if),
            Script::RedisPy => scripts::redis_py_release(redis, &self.key, &hold.value).map(freed_if),
            Script::Retools => scripts::retools_release(redis, &self.key, &hold.value).map(freed_if),
            Script::Jedis => scripts::jedis_unlock(redis, &self.key, &hold.value).map(|_| Released::Freed),
        }
    }
}

/// What the checks compare.
impl Lock {
    /// The number that was written, before it was printed.
    fn own_number(&self, hold: &Hold) -> Number {
        self.dialect.form.stamp.at(self.now(hold.since), hold.lease.length())
    }

    /// Whether the own stamp is ahead of the clock.
    fn is_own_ahead(&self, hold: &Hold, or_equal: bool, grace: Duration, redis: &mut Transcript) -> Turn<bool> {
        let now = self.dialect.form.stamp.now(self.now(self.clock(redis)?), grace);
        let (own, now) = (self.own_number(hold).as_f64(), now.as_f64());
        Ok(own > now || or_equal && own == now)
    }

    /// Whether a stored stamp is ahead of the clock.
    fn is_ahead(&self, value: &[u8], redis: &mut Transcript) -> Turn<bool> {
        let now = self.dialect.form.stamp.now(self.now(self.clock(redis)?), Duration::ZERO);
        Ok(self.compare(value, now) == Comparison::Greater)
    }
}

fn freed_if(deleted: bool) -> Released {
    if deleted { Released::Freed } else { Released::Lost }
}

/// The key as `ObjectOutputStream.writeObject` writes a string: magic, version, a tag, the length, the bytes.
fn java_serialized(key: &Key) -> Key {
    let bytes = key.as_bytes();
    let header: Vec<u8> = match u16::try_from(bytes.len()) {
        Ok(length) => [&[0xac, 0xed, 0, 5, 0x74], length.to_be_bytes().as_slice()].concat(),
        Err(_) => [&[0xac, 0xed, 0, 5, 0x7c], (bytes.len() as u64).to_be_bytes().as_slice()].concat(),
    };
    Key::new([header.as_slice(), bytes].concat())
}
