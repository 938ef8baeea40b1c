package dev.lockshift;

/** What a release has found. */
public enum Released {
    /** The lease had ended: another client may have held the lock meanwhile. */
    LOST,
    FREED,
    /** An old client has changed the old key while the lock was held. */
    INTRUDED
}
