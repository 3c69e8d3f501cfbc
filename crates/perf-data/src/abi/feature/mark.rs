//! Features BRANCH_STACK and STAT, which are flags without content.

use super::FeatureId;
use super::descriptor::{FeatureDescriptor, FeatureFlags};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// An empty section. BRANCH_STACK (perf 3.4): samples have branch stacks. STAT (perf 4.5): the recording is of `perf stat`.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark;

/// Descriptor of BRANCH_STACK.
pub const BRANCH_STACK: FeatureDescriptor =
    FeatureDescriptor::recording(FeatureId::BRANCH_STACK, (3, 4)).with(FeatureFlags::FILE_ONLY);

/// Descriptor of STAT.
pub const STAT: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::STAT, (4, 5)).with(FeatureFlags::FILE_ONLY);

roles! { Mark {} }
