//! The ids of the documented races: what the catalogue of races calls them, and what an audit finds.

use std::fmt;

/// Declares each race once, with its id.
macro_rules! race_ids {
    ($($race:ident = $id:literal,)*) => {
        /// A documented race. Its id is stable: it is what `lockshift races --show ID` takes and what JSON contains.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RaceId {
            $(#[doc = concat!("`", $id, "`")] $race,)*
        }

        impl RaceId {
            /// Every race, in the order of the catalogue.
            pub const ALL: &'static [Self] = &[$(Self::$race,)*];

            /// The id as text.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$race => $id,)*
                }
            }
        }
    };
}

race_ids! {
    CheckThenSet = "check-then-set",
    NoLeaseCrash = "no-lease-crash",
    LostReplyLocksForEver = "lost-reply-locks-for-ever",
    CrashBeforeExpire = "crash-before-expire",
    ScriptHalfApplied = "script-half-applied",
    StampWrittenBack = "stamp-written-back",
    GetThenSet = "get-then-set",
    TakenWithoutWriting = "taken-without-writing",
    NewerStampWins = "newer-stamp-wins",
    DoubleTakeover = "double-takeover",
    LoserMovesLease = "loser-moves-lease",
    StaleStampShortensLease = "stale-stamp-shortens-lease",
    MineCountsAsFree = "mine-counts-as-free",
    LoserBlocksRelease = "loser-blocks-release",
    PhantomAfterNilGet = "phantom-after-nil-get",
    PhantomAfterRelease = "phantom-after-release",
    EqualityLoserPhantom = "equality-loser-phantom",
    LoserOutlivesWinner = "loser-outlives-winner",
    RoundedStampMissesRelease = "rounded-stamp-misses-release",
    ReleaseMissesKey = "release-misses-key",
    LoserClearsTtl = "loser-clears-ttl",
    LateExpire = "late-expire",
    AbsoluteExpire = "absolute-expire",
    LateUnlock = "late-unlock",
    TtlIsNotOwnership = "ttl-is-not-ownership",
    CheckThenDel = "check-then-del",
    LaterOwnerSatisfiesGe = "later-owner-satisfies-ge",
    ClockSkewSteal = "clock-skew-steal",
    Overrun = "overrun",
    RenewalTooLate = "renewal-too-late",
    SharedRenewalFlag = "shared-renewal-flag",
    UnlockSaysYesAfterLoss = "unlock-says-yes-after-loss",
    OneAttemptShort = "one-attempt-short",
    ReaderDeletesReader = "reader-deletes-reader",
    LastReaderSpeaksForAll = "last-reader-speaks-for-all",
    SameMillisecond = "same-millisecond",
    FailoverLosesLock = "failover-loses-lock",
    PartialQuorumStays = "partial-quorum-stays",
    FailoverLosesFence = "failover-loses-fence",
    TokenReadAsStamp = "token-read-as-stamp",
    BinaryReadAsStamp = "binary-read-as-stamp",
    SecondsReadAsMillis = "seconds-read-as-millis",
    TokenClientStarves = "token-client-starves",
}

impl RaceId {
    /// The race with this id; `None` if no documented race has it.
    pub fn find(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|race| race.name() == id)
    }
}

impl fmt::Display for RaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[test]
fn each_id_finds_its_race() {
    for race in RaceId::ALL {
        assert_eq!(RaceId::find(race.name()), Some(*race));
    }
    assert_eq!(RaceId::find("no-such-race"), None);
}
