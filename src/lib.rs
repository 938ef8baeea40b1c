//! Redis locks across generations: the old timestamp locks and the modern token lock, on keys that they share.
//!
//! A lock protocol here is a plain function over a transcript ([`wire`]).

pub mod driver;

pub use lockshift_legacy as legacy;
pub use lockshift_lock as lock;
pub use lockshift_modern as modern;
pub use lockshift_wire as wire;
#[cfg(feature = "sim")]
pub mod explore;
#[cfg(feature = "sim")]
pub mod sim;
#[cfg(feature = "sim")]
pub mod races;
