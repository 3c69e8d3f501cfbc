//! `PERF_RECORD_FINISHED_ROUND` and `PERF_RECORD_FINISHED_INIT`, markers without a body.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// End of a round: all buffers were drained. No later record is older than the newest of the previous round.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedRound;

/// End of the initial, synthesized records. Since perf 6.0.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedInit;

/// Descriptor of FINISHED_ROUND.
pub const FINISHED_ROUND: RecordDescriptor =
    RecordDescriptor::state(RecordType::FINISHED_ROUND, (2, 6), 8).with(RecordFlags::NEEDED);

/// Descriptor of FINISHED_INIT.
pub const FINISHED_INIT: RecordDescriptor =
    RecordDescriptor::state(RecordType::FINISHED_INIT, (6, 0), 8).with(RecordFlags::NEEDED);

roles! { FinishedRound {} }

roles! { FinishedInit {} }
