//! Filters: what stays of a recording, so that it is still a valid one.
//!
//! * [`pass`]: the pass that all filters of samples have in common, and what such a filter is.
//! * [`time`], [`task`], [`comm`], [`cpu`], [`dso`], [`sample_every`], [`head`]: filters of samples, by what each asks.
//! * [`event`]: samples of certain events, and of the recording what belongs to these; [`event_list`]: their names in a list;
//!   [`lineage`]: what becomes of the ids of
//!   events that go.
//! * [`kind`]: records by type.
//! * [`places`]: where a sample is, whatever the order; [`related_processes`]: processes that have to do with what stays;
//!   [`deferred`]: user call chains of samples that stay; [`not_found`]: what there is, told where something is asked for that is
//!   not there.

pub mod comm;
pub mod cpu;
pub mod deferred;
pub mod dso;
pub mod event;
pub mod event_list;
pub mod head;
pub mod kind;
pub mod lineage;
pub mod not_found;
pub mod pass;
pub mod places;
pub mod related_processes;
pub mod sample_every;
pub mod task;
pub mod time;
