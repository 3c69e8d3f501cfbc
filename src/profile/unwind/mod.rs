//! Unwinds stack dumps into call chains, before samples are aggregated.

pub(crate) mod deferred;
pub(crate) mod dump_batch;
pub(crate) mod dump_unwinder;
pub(crate) mod link_register;
pub(crate) mod stack_dumps;
mod unique_stacks;
pub(crate) mod unwinding;
pub(crate) mod unwound_stacks;
pub(crate) mod user_chain;
