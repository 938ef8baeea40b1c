//! Under which targets the drivers log. They are stable: whoever filters by them goes on to find what it looks for.

/// Trying, waiting, giving up.
pub(super) const ACQUIRE: &str = "lockshift::driver::acquire";
/// Renewing.
pub(super) const RENEW: &str = "lockshift::driver::renew";
/// Giving back.
pub(super) const RELEASE: &str = "lockshift::driver::release";
/// Hearing that others give back.
pub(super) const LISTEN: &str = "lockshift::driver::listen";
/// One of several servers.
pub(super) const CONNECT: &str = "lockshift::driver::connect";
/// A lock that is taken beside another one.
pub(super) const SHADOW: &str = "lockshift::driver::shadow";
