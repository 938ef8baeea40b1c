//! The targets under which the drivers log. They are stable, so that filters keep working.

/// Trying, waiting, giving up.
pub(super) const ACQUIRE: &str = "lockshift::driver::acquire";
/// Renewing.
pub(super) const RENEW: &str = "lockshift::driver::renew";
/// Releasing.
pub(super) const RELEASE: &str = "lockshift::driver::release";
/// Listening for releases.
pub(super) const LISTEN: &str = "lockshift::driver::listen";
/// One of several servers.
pub(super) const CONNECT: &str = "lockshift::driver::connect";
/// A lock that is taken beside another one.
pub(super) const SHADOW: &str = "lockshift::driver::shadow";
