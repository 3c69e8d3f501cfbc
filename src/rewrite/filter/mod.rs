//! Filters: reduce a recording while keeping it valid.
//!
//! * [`pass`]: the common pass of all sample filters, and the filter trait.
//! * [`time`], [`task`], [`comm`], [`cpu`], [`dso`], [`sample_every`], [`head`]: sample filters by criterion.
//! * [`event`]: samples of certain events, with the events themselves; [`event_list`]: lists of event names; [`lineage`]: IDs of
//!   removed events.
//! * [`kind`]: records by type.
//! * [`file_positions`]: positions of samples, independent of order; [`related_processes`]: processes related to kept samples;
//!   [`deferred`]: deferred user call chains of kept samples; [`not_found`]: errors for values that no sample has.

pub mod comm;
pub mod cpu;
pub mod deferred;
pub mod dso;
pub mod event;
pub mod event_list;
pub mod file_positions;
pub mod head;
pub mod kind;
pub mod lineage;
pub mod not_found;
pub mod own_ids;
pub mod pass;
pub mod related_processes;
pub mod sample_every;
pub mod task;
pub mod time;
