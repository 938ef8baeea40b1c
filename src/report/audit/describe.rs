//! What a trace shows of a race, in a sentence.

use std::sync::Arc;

use crate::audit::{Evidence, Verdict};
use crate::race_id::RaceId;
use crate::wire::Printable;

/// What is found, where no documented race explains it.
pub(super) fn title(evidence: &Evidence) -> &'static str {
    match evidence {
        Evidence::DeletedFromOutside { .. } => "deleted from outside",
        Evidence::Vanished { .. } => "vanished lock",
        _ => "unexplained double hold",
    }
}

/// What happened, in a sentence.
pub(in crate::report) fn describe(verdict: &Verdict) -> String {
    match &verdict.evidence {
        Evidence::DoubleHold { holder, holder_line, newcomer, newcomer_line, value } => {
            let reason = reason(verdict.race, value, newcomer);
            format!("{holder} holds since line {holder_line} and {newcomer} since line {newcomer_line}: {reason}")
        }
        Evidence::StampWrittenBack { client, value } => {
            let stamp = Printable(value);
            format!(
                "{client} acquires the lock and writes the expired stamp {stamp} back: the next client acquires it, too"
            )
        }
        Evidence::LoserMovedLease { loser, winner, value, replaced } => {
            let (left, old) = (Printable(value), Printable(replaced));
            format!("{loser} lost the takeover to {winner} and left {left} in place of {old}")
        }
        Evidence::Phantom { client, value } => {
            let reason = match verdict.race {
                Some(RaceId::PhantomAfterNilGet) => "its GET had found nothing",
                Some(RaceId::PhantomAfterRelease) => "the lock had been released since its GET",
                _ => "the lock had been acquired, and had expired again, since its GET",
            };
            let left = Printable(value);
            format!("{client} believes that it lost and leaves {left} in a lock that no client holds: {reason}")
        }
        Evidence::LoserOutlivesWinner { loser, value } => {
            let left = Printable(value);
            format!("the winner's lease has expired, and {left} of the loser {loser} keeps every client out beyond it")
        }
        Evidence::LoserBlocksRelease { holder, loser, value } => {
            let left = Printable(value);
            format!("{holder} cannot release the lock: the loser {loser} has put {left} in place of its stamp")
        }
        Evidence::LoserClearedTtl => {
            "a loser has removed the time to live, and clients that read no stamps wait for ever".to_owned()
        }
        Evidence::Deleted { client, holder, holder_line } => {
            format!("{client} deletes the lock that {holder} holds since line {holder_line}")
        }
        Evidence::DeletedFromOutside { client, holder, holder_line } => {
            format!("{client}, which does not use this lock, deletes what {holder} holds since line {holder_line}")
        }
        Evidence::Vanished { holder, holder_line, newcomer, newcomer_line } => {
            let gone = "the key was gone without a command, as after an eviction, a failover or a restart";
            format!("{holder} holds since line {holder_line} and {newcomer} since line {newcomer_line}: {gone}")
        }
        Evidence::OtherKeyDeleted { client } => format!("{client} deletes another key than the one that it locked"),
        Evidence::NotDeleted { client, value } => {
            format!("{client} reads its own stamp {} and does not delete it", Printable(value))
        }
        Evidence::Overrun { client, line, next } => overrun(client, *line, next.as_ref()),
        Evidence::TtlOfDecades { client } => {
            format!("{client} sets a time to live of decades: it passes a point in time where a duration belongs")
        }
        Evidence::LeaseShortened { client, holder, holder_line } => {
            format!("{client} shortens the lease that {holder} holds since line {holder_line}")
        }
        Evidence::ExtendedTooLate { client, line, next, next_line } => {
            format!("{client} extends at line {line} what {next} has held since line {next_line}")
        }
        Evidence::ScriptFailed { client, reply } => {
            format!("the script of {client} sets the key and fails at its time to live ({reply})")
        }
        Evidence::WaitsForEver { client, holder, value, silence } => {
            let value = Printable(value);
            format!("{client} waits for {value}, which never ends; {holder} has been silent for {silence:.0?}")
        }
    }
}

fn overrun(client: &str, line: u64, next: Option<&(Arc<str>, u64)>) -> String {
    let meanwhile = match next {
        Some((next, since)) => format!("{next} has held the lock since line {since}"),
        None => "no other client acquired it in between".to_owned(),
    };
    format!("the work of {client} took longer than its lease: it releases at line {line}, and {meanwhile}")
}

/// Why two clients hold at once, if the holder had written this value.
fn reason(race: Option<RaceId>, value: &[u8], newcomer: &str) -> String {
    let value = Printable(value);
    match race {
        Some(RaceId::CheckThenSet) => "both had found no key before either had set it".to_owned(),
        Some(RaceId::GetThenSet) => {
            "both had read before either had written, and a plain SET refuses no client".to_owned()
        }
        Some(RaceId::MineCountsAsFree) => {
            format!("{newcomer} took the value that it had left there as a loser for a lock of its own")
        }
        Some(RaceId::StaleStampShortensLease) => "a loser's stamp had ended the lease early".to_owned(),
        Some(RaceId::TokenReadAsStamp) => format!("{newcomer} read the token {value} as an expired stamp"),
        Some(RaceId::BinaryReadAsStamp) => format!("{newcomer} read the eight bytes {value} as an expired stamp"),
        Some(RaceId::SecondsReadAsMillis) => format!("{newcomer} read the seconds {value} as milliseconds"),
        Some(RaceId::NewerStampWins) => format!("{newcomer} overwrote the running lease {value} without reading it"),
        Some(RaceId::ClockSkewSteal) => {
            format!("by the clock of {newcomer} the stamp {value} had expired, and by the server's it had not")
        }
        Some(RaceId::TakenWithoutWriting) => "neither has written anything that the other could see".to_owned(),
        _ => "no documented race explains it".to_owned(),
    }
}
