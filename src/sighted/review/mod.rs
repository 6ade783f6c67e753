//! Review: what moved, in which order a person sees it, and what they said of it. Pure but for
//! [`pictures`] and [`recorder`], which are the two threads' work.

pub(in crate::sighted) mod desk;
pub(in crate::sighted) mod material;
pub(in crate::sighted) mod pictures;
pub(in crate::sighted) mod plain;
pub(in crate::sighted) mod queue;
pub(in crate::sighted) mod recorder;
pub(in crate::sighted) mod tally;
pub(in crate::sighted) mod twin;
pub(in crate::sighted) mod verdict;

#[cfg(test)]
pub(in crate::sighted) mod testing;
