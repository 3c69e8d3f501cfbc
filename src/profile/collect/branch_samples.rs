//! The branch stack of a sample: its branches as samples of a profile, and the code between them.

use super::branch_entries::is_not_taken;
use super::collector::Collector;
use super::observation::Observation;
use super::sample_context::SampleContext;
use crate::profile::intern::frames::Address;
use crate::profile::intern::resolver::{Resolver, Viewer};
use crate::profile::intern::stacks::StackId;
use crate::profile::labels::{LabelKey, LabelValue};
use perf_data::abi::Endian;
use perf_data::abi::sample::branch::BranchFlags;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::error::Result;
use perf_data::session::Session;
use perf_data::session::space::Space;

impl Collector<'_> {
    /// Counts the code between the branches of a sample, if the code of functions is read.
    pub(super) fn count_ranges(
        &mut self,
        context: SampleContext,
        view: &SampleView<'_>,
        layout: &SampleLayout,
        endian: Endian,
    ) {
        let Self { branch_ranges: Some(counter), stacks, session, .. } = self else { return };
        let is_call_stack = layout.branch_sample_type().contains(BranchSampleType::CALL_STACK);
        let Some(branches) = view.branch_stack.filter(|_| !is_call_stack) else { return };
        let (viewer, resolver) = (context.viewer(view), &mut stacks.direct.resolver);
        counter.add(&branches, endian, |first, second| pair(resolver, session, viewer, [first, second]));
    }

    /// Adds the branches of a sample, with these of their flags.
    pub(super) fn add_branches(
        &mut self,
        observation: &mut Observation,
        context: SampleContext,
        flags: BranchFlags,
        view: &SampleView<'_>,
        endian: Endian,
    ) -> Result<()> {
        self.read_labels(observation, context);
        let viewer = context.viewer(view);
        let label_count = observation.labels.len();
        let Some(branches) = view.branch_stack else { return Ok(()) };
        let mut words = branches.entries.iter();
        while let (Some(from), Some(to), Some(word)) = (words.next(), words.next(), words.next()) {
            let recorded = BranchFlags::from_word(word, endian);
            if is_not_taken(recorded) {
                continue;
            }
            let stack = pair(&mut self.stacks.direct.resolver, &self.session, viewer, [to, from]);
            let value = recorded.0 & flags.0;
            observation.labels.truncate(label_count);
            observation.labels.push(LabelValue { key: LabelKey::BranchFlags, value });
            self.add(observation, stack, 1)?;
        }
        Ok(())
    }
}

/// A stack of the frames of two addresses, which are not those of callers.
fn pair(resolver: &mut Resolver, session: &Session, viewer: Viewer, addresses: [u64; 2]) -> StackId {
    let frames = addresses.map(|address| {
        let space = if address >> 63 == 1 { Space::Kernel } else { Space::User };
        resolver.frame_seen_by(session, viewer, Address { address, space, is_caller: false })
    });
    resolver.stacks.stack_id(&frames)
}
