//! What the explorer finds, counted by hand or known from elsewhere.

mod known;
mod locks;
