//! The guard: guarded clients exclude each other in every schedule, and real ones on a real server.

mod administered;
mod bridging;
mod configured;
mod deployed;
mod discreet;
mod encrypted;
mod explored;
mod extending;
mod leaving;
mod observing;
mod proxy;
mod remembering;
mod renewing;
mod server_faults;
mod transactions;
mod transparent;
