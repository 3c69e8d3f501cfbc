//! Stack frames: a tree of calls, each frame with its caller.

use crate::profile::Profile;
use crate::profile::intern::stacks::StackId;
use crate::report::location::{LocationId, Locations};
use hashbrown::HashMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The frames of a profile. Their numbers begin at 1: speedscope takes 0 for none.
pub(super) struct StackFrames {
    locations: Locations,
    /// Caller and location of each frame.
    frames: Vec<(Option<u32>, LocationId)>,
    by_stack: HashMap<StackId, Option<u32>>,
}

#[derive(Serialize)]
struct StackFrame<'a> {
    name: Cow<'a, str>,
    /// File with the code.
    category: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<u32>,
}

impl StackFrames {
    /// The frames of a profile.
    pub(super) fn new(profile: &Profile) -> Self {
        let locations = Locations::new(&profile.tables);
        let (mut frames, mut numbers, mut by_stack) = (Vec::new(), HashMap::new(), HashMap::new());
        for row in &profile.rows {
            by_stack.entry(row.stack).or_insert_with(|| {
                let stack = locations.stack_locations(profile.tables.stacks.stack(row.stack)).rev();
                stack.fold(None, |caller, location| {
                    Some(*numbers.entry((caller, location)).or_insert_with(|| {
                        frames.push((caller, location));
                        frames.len() as u32
                    }))
                })
            });
        }
        Self { locations, frames, by_stack }
    }

    /// The innermost frame of a stack; `None` if it is empty.
    pub(super) fn innermost_frame(&self, stack: StackId) -> Option<u32> {
        self.by_stack.get(&stack).copied().flatten()
    }
}

impl Serialize for StackFrames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { locations, frames, .. } = self;
        serializer.collect_map((1_u32..).zip(frames).map(|(number, &(parent, location))| {
            let location = locations.get(location);
            let (name, category) = (locations.text(location.function), locations.text(location.dso));
            (number, StackFrame { name, category, parent })
        }))
    }
}
