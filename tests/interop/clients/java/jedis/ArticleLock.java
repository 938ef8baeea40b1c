/** One lock of one article, written anew from its description, for one holder. */
interface ArticleLock {
    /** One try. */
    boolean tryLock();

    /** Whether the article's code takes it for released. */
    boolean unlock();

    /** Renews the lease; `null` where the article has no such thing. */
    default Boolean renew() {
        return null;
    }
}
