//! Stacks of frame names with their counts.

use super::Folded;
use super::frame_names::{FrameNames, Show};
use super::root_frames::{check_keys, key_frames, label_frames};
use crate::profile::Profile;
use crate::profile::options::FunctionNames;
use crate::report::key::ReportKey;
use hashbrown::{HashMap, HashSet};
use perf_data::error::{Error, Result};
use perf_data::printable;
use perf_data::session::names::{NameId, Names};
use perf_data::session::slices::Slices;

/// Number of events that an error lists, in about two lines of a terminal.
const MAX_LISTED: usize = 10;

/// The stacks of a profile by the names of their frames, root first: stacks whose frames have equal names are one.
pub struct FoldedStacks {
    names: Names,
    stacks: Slices<NameId>,
    /// Short names of functions, by the names from which they differ, without the suffixes of kinds.
    short_names: HashMap<NameId, String>,
    /// By stack.
    counts: Vec<u64>,
}

impl FoldedStacks {
    /// The stacks of a profile.
    ///
    /// # Errors
    /// If the profile has samples of several events, by which they are not grouped, or no values of a key by which they are.
    pub fn new(profile: &Profile, options: &Folded, show: Show) -> Result<Self> {
        Self::with_names(profile, options, show, FunctionNames::Full)
    }

    /// As [`new`](Self::new), with short names of functions if requested: parts, clones and tiers of a function are one.
    pub(crate) fn with_names(profile: &Profile, options: &Folded, show: Show, names: FunctionNames) -> Result<Self> {
        if !options.group_by.contains(&ReportKey::Event) {
            check_events(profile)?;
        }
        check_keys(&options.group_by, profile)?;
        let tables = &*profile.tables;
        let mut frames = FrameNames::new(tables, options, show, names);
        let mut stacks: Slices<NameId> = Slices::default();
        let (mut counts, mut stack) = (Vec::new(), Vec::new());
        for row in &profile.rows {
            stack.clear();
            let roots = match &options.group_by[..] {
                [] => label_frames(tables.labels.labels(row.labels), tables, !profile.has_selected_labels),
                keys => key_frames(keys, row, tables),
            };
            stack.extend(roots.iter().map(|root| frames.name_id(root)));
            frames.append(row.stack, &mut stack);
            let index = stacks.id(&stack) as usize;
            if index == counts.len() {
                counts.push(0_u64);
            }
            counts[index] = counts[index].saturating_add(row.value);
        }
        let (names, short_names) = frames.into_names();
        Ok(Self { names, short_names, stacks, counts })
    }

    /// The short names of functions, by their names in the stacks, from which they differ.
    pub(crate) fn short_names(&self) -> impl Iterator<Item = (&[u8], &str)> {
        self.short_names.iter().map(|(&id, short)| (self.names.name(id), &**short))
    }

    /// The first frames of the stacks.
    pub(crate) fn roots(&self) -> HashSet<&[u8]> {
        let counted = (0..).zip(&self.counts).filter(|(_, count)| **count > 0);
        counted.filter_map(|(index, _)| Some(self.names.name(*self.stacks.get(index).first()?))).collect()
    }

    /// The sum of the counts.
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The stacks with their counts, sorted by the names of their frames. Stacks without a count are omitted.
    pub fn sorted<'a>(&'a self) -> impl Iterator<Item = (impl Iterator<Item = &'a [u8]>, u64)> {
        let names = |ids: &'a [NameId]| ids.iter().map(|&id| self.names.name(id));
        let stack = |index: usize| self.stacks.get(index as u32);
        let mut order: Vec<_> = (0..self.counts.len()).filter(|&index| self.counts[index] > 0).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (stack(a), stack(b));
            let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
            names(&a[common..]).cmp(names(&b[common..]))
        });
        order.into_iter().map(move |index| (names(stack(index)), self.counts[index]))
    }
}

/// Fails if a profile has samples of several events, whose counts cannot be added.
fn check_events(profile: &Profile) -> Result<()> {
    if profile.has_samples.len() < 2 {
        return Ok(());
    }
    let names = profile.has_samples.iter().map(|&event| &profile.tables.events[event as usize].name);
    let names = printable::list(names, MAX_LISTED, "events");
    Err(Error::invalid(format!(
        "the profile has samples of several events: {names}; choose one with --event, write a file for each with --split-by \
         event, or a frame for each with --group-by event"
    )))
}
