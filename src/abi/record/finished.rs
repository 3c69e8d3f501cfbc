//! `PERF_RECORD_FINISHED_ROUND` and `PERF_RECORD_FINISHED_INIT`: marks among the records, without a body.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// All buffers were drained once: records older than the newest of the round before will not come any more.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedRound;

/// All that existed before the recording has been told. Since perf 6.0.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedInit;

/// Descriptor of FINISHED_ROUND.
pub const FINISHED_ROUND: RecordDescriptor = RecordDescriptor::state(RecordType::FINISHED_ROUND, (2, 6), 8);

/// Descriptor of FINISHED_INIT.
pub const FINISHED_INIT: RecordDescriptor = RecordDescriptor::state(RecordType::FINISHED_INIT, (6, 0), 8);

roles! { FinishedRound {} }

roles! { FinishedInit {} }
