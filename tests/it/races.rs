//! The catalogue of races: each is found and is the one it should be, each remedy is clean to the end, random schedules
//! find them too, and a real Redis answers the found schedules as the simulated one does.

mod complete;
mod found;
mod negligible;
mod random;
mod real;
mod schedule;
