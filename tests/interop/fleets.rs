//! soon
use libtest_mimic::Trial;
use std::sync::Arc;
use crate::stand::Stand;
pub(crate) fn trials(_: &Arc<Stand>) -> impl Iterator<Item = Trial> { [].into_iter() }
