//! The guard: guarded clients exclude each other in every schedule, and real ones on a real server.

mod explored;
mod proxy;
