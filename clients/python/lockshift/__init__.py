"""Redis locks for the way from the old timestamp lock to the token lock.

`BridgeLock` holds the old key of a fleet and its new key at once: clients of the old lock and clients of the new one both
respect it. `TokenLock` holds the new key alone. Both have the same methods and the same outcomes.

    from lockshift import BridgeLock

    lock = BridgeLock(redis.Redis(), "invoices", lease=30, dialects=["php-getset"])
    with lock.held(timeout=10) as hold:
        work()              # renewed in the background; hold.lost is set once the lock is lost
"""

from .dialects import NotBridgeable, new_key
from .locks import BridgeLock, Hold, Lost, NotAcquired, OutcomeUnknown, Released, TokenLock

__all__ = [
    "BridgeLock",
    "Hold",
    "Lost",
    "NotAcquired",
    "NotBridgeable",
    "OutcomeUnknown",
    "Released",
    "TokenLock",
    "new_key",
]
