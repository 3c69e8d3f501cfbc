//! Filters: reduce a recording while keeping it valid.
//!
//! * [`pass`]: the common pass of all sample filters, and the filter trait.
//! * [`time`], [`task`], [`comm`], [`cpu`], [`dso`], [`sample_every`], [`head`]: sample filters by criterion.
//! * [`event`]: samples of certain events, with the events themselves; `event_list`: lists of event names; `lineage`: IDs of
//!   removed events.
//! * [`kind`]: records by type.
//! * `file_positions`: positions of samples, independent of order; `related_processes`: processes related to kept samples;
//!   `deferred`: deferred user call chains of kept samples; `not_found`: errors for values that no sample has.

pub mod comm;
pub mod cpu;
pub(crate) mod deferred;
pub mod dso;
pub mod event;
pub(crate) mod event_list;
pub(crate) mod file_positions;
pub mod head;
pub mod kind;
pub(crate) mod lineage;
pub(crate) mod not_found;
pub(crate) mod own_ids;
pub mod pass;
pub(crate) mod related_processes;
pub mod sample_every;
pub mod task;
pub mod time;
