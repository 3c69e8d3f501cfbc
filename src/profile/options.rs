//! What goes into a profile.

use super::imported::ImportedProfile;
use super::labels::Label;
use hashbrown::HashMap;
use std::sync::Arc;

/// What goes into a profile, and how it is told apart.
#[derive(Clone, Debug, Default)]
pub struct ProfileOptions {
    /// Labels that samples get; the recording has to tell them. If not set, [these](Self::DEFAULT_LABELS), where it does.
    pub labels: Option<Vec<Label>>,
    /// Names of the events that are wanted; all where there are none. A name without its modifiers will do.
    pub events: Vec<String>,
    /// One profile for each of these.
    pub split: Option<Split>,
    /// What the kernel lost counts as samples of a stack of its own.
    pub lost_as_samples: bool,
    /// The address of the data is a frame above the leaf.
    pub data_addresses: bool,
    /// What the user calls threads, by their ids.
    pub thread_types: HashMap<u32, String>,
    /// What is kept of the profile that the recording was converted from.
    pub imported: Option<Arc<ImportedProfile>>,
}

impl ProfileOptions {
    /// Labels that samples get where none are named.
    pub const DEFAULT_LABELS: &[Label] = &[Label::Comm];
}

/// What a profile is split by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Process.
    Pid,
    /// Name of the process.
    Comm,
    /// Event.
    Event,
    /// Cgroup.
    Cgroup,
}
