//! What events are to a measurement, which is determined once for each event and not for each sample.

use perf_data::abi::attr::AttrType;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::FeatureId;
use perf_data::stream::event_name::event_name;
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::meta::Meta;
use perf_data::tracepoint::print_format::KernelStrings;
use perf_data::tracepoint::tracepoints::{Tracepoint, Tracepoints};

/// The roles of events.
#[derive(Debug)]
pub(crate) struct EventRoles<R> {
    formats: Tracepoints,
    /// By event; `None` for those without a role.
    roles: Vec<Option<R>>,
    /// Names of tracepoints with a role of which only some occurrences were recorded.
    sampled: Vec<String>,
}

impl<R> Default for EventRoles<R> {
    fn default() -> Self {
        Self { formats: Tracepoints::default(), roles: Vec::new(), sampled: Vec::new() }
    }
}

impl<R> EventRoles<R> {
    /// Determines the roles of events that were not seen before, given the format of those that are tracepoints: a pipe can describe
    /// further events between samples.
    #[inline]
    pub(crate) fn update(&mut self, meta: &Meta, role: impl FnMut(&Event, Option<&Tracepoint>) -> Option<R>) {
        if self.roles.len() < meta.events.list().len() {
            self.add(meta, role);
        }
    }

    fn add(&mut self, meta: &Meta, mut role: impl FnMut(&Event, Option<&Tracepoint>) -> Option<R>) {
        if let Some(section) = meta.features.get(&FeatureId::TRACING_DATA).filter(|_| self.formats.is_empty()) {
            self.formats = Tracepoints::read(section);
        }
        for event in &meta.events.list()[self.roles.len()..] {
            let role = role(event, self.tracepoint(event));
            if role.is_some() && is_sampled(event) {
                self.sampled.push(event_name(event).to_owned());
            }
            self.roles.push(role);
        }
    }

    /// Strings of the kernel, which texts of tracepoints refer to.
    pub(crate) fn strings(&self) -> &KernelStrings {
        self.formats.strings()
    }

    /// The role of an event.
    #[inline]
    pub(crate) fn get(&self, index: EventIndex) -> Option<&R> {
        self.roles.get(index as usize)?.as_ref()
    }

    /// All roles.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &R> {
        self.roles.iter().flatten()
    }

    /// A warning, if only some occurrences of tracepoints with a role were recorded.
    pub(crate) fn sampling(&self) -> Option<String> {
        let names = self.sampled.join(", ");
        (!names.is_empty()).then(|| {
            format!(
                "only some occurrences of {names} were recorded (with a frequency or a period), so that times and counts are wrong; \
                 record without -F and -c, or give these to another event: -e cpu-clock/freq=99/"
            )
        })
    }

    /// The format of an event that is a tracepoint.
    pub(crate) fn tracepoint(&self, event: &Event) -> Option<&Tracepoint> {
        self.formats.get(event.attr.config).filter(|_| event.attr.kind == AttrType::TRACEPOINT)
    }
}

/// Whether only some occurrences of a tracepoint were recorded.
fn is_sampled(event: &Event) -> bool {
    let attr = &event.attr;
    attr.kind == AttrType::TRACEPOINT && (attr.flags.contains(AttrFlags::FREQ) || attr.sample_period > 1)
}
