//! Synthetic recordings: for tests of readers, and for the import of other formats.
//!
//! A [`RecordingBuilder`] collects records in memory, in any order: [`Event`]s, [`Map`]s, samples and others, each with a
//! [`Stamp`]. [`Metadata`] describes the recording: its events, [`Tracepoint`]s and the [`Machine`].

// A `Recorder` writes records one by one in constant memory; `template` repeats a sample; `scenario` is recordings described by
// a file.
pub(crate) mod bpf;
pub(crate) mod event;
mod event_names;
mod flow;
pub(crate) mod map;
pub(crate) mod metadata;
mod recorder;
mod recording;
pub(crate) mod scenario;
mod template;
pub(crate) mod tracepoint;

pub use event::Event;
pub use map::Map;
pub use metadata::{Machine, Metadata};
pub use recorder::{Recorder, Stamp};
pub use recording::RecordingBuilder;
pub use scenario::Scenario;
pub use scenario::file::expect::Expect;
pub use tracepoint::{Tracepoint, TracepointField, tracing_data};
