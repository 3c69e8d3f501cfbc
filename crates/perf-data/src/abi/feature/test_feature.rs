//! A feature for tests, the example in docs/contributing.md.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use super::string::PerfStr;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// An example. Since perf 7.3.
///
/// ```c
/// u32 pid; u64 time; string host;
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExampleFeature {
    /// Process.
    pub pid: u32,
    /// Nanoseconds of the recording's clock.
    pub time: u64,
    /// Name of the host.
    pub host: PerfStr,
}

/// Descriptor of EXAMPLE.
pub const EXAMPLE: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::EXAMPLE, (7, 3));

roles! { ExampleFeature { pid: task, time: time, host: text(Host) } }
