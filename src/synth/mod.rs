//! Recordings from nothing: for whoever tests what reads them, and for what becomes a recording that was none.
//!
//! * [`recording`]: a recording that is put together in memory, in any order; [`map`]: what is mapped in it.
//! * [`recorder`]: records one after the other, in bounded memory; [`template`]: one that is told again and again.
//! * [`scenario`]: recordings as a person thinks of them, told in a file.
//! * [`about`]: what a recording tells of itself: [`event`]s by their [names](event_names), [`tracepoint`]s, the machine;
//!   [`bpf`] programs.

pub mod about;
pub mod bpf;
pub mod event;
pub mod event_names;
mod flow;
pub mod map;
pub mod recorder;
pub mod recording;
pub mod scenario;
pub mod template;
pub mod tracepoint;

pub use about::{About, Machine};
pub use event::Event;
pub use map::Map;
pub use recorder::{Recorder, Stamp};
pub use recording::RecordingBuilder;
pub use scenario::Scenario;
