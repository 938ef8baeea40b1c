//! The guard: guarded clients exclude each other in every schedule, and real ones on a real server.

mod administered;
mod bridging;
mod explored;
mod observing;
mod proxy;
mod renewing;
