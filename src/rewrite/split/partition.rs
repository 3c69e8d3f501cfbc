//! Which part a sample is in.

use super::by::By;
use crate::abi::sample_view::SampleView;
use crate::rewrite::filter::comm::called;
use crate::session::Session;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;

/// What a part is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A slice, a process, a thread, a CPU.
    Number(u64),
    /// A name.
    Name(Vec<u8>),
}

/// What a sample or a trailer tells that parts are chosen by.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartCriteria {
    task: Option<(u32, u32)>,
    cpu: Option<u32>,
    time: Option<u64>,
}

impl PartCriteria {
    /// Of a sample.
    pub fn by_sample(view: &SampleView<'_>) -> Self {
        Self { task: view.task, cpu: view.cpu.map(|(cpu, _)| cpu), time: view.time }
    }

    /// Of another record, by its trailer.
    pub fn by_trailer(meta: &Meta, raw: &Raw<'_>) -> Self {
        let trailer = meta.events.split(raw).1.unwrap_or_default();
        Self { task: trailer.task, cpu: trailer.cpu.map(|(cpu, _)| cpu), time: trailer.time }
    }
}

/// Says of samples which part they are in. Asked about the same samples in the same order, it says the same.
pub struct Choice {
    by: By,
    /// The time at which slices begin, and how long each is.
    slices: Option<(u64, u64)>,
    /// Number of the slice, and how many samples or bytes are in it.
    slice: (u64, u64),
    session: Session,
}

impl Choice {
    /// By that. Of shares of the time it must be known from when to when samples go.
    pub fn new(by: By, times: Option<(u64, u64)>) -> Self {
        let slices = match (by, times) {
            (By::Share(share), Some((first, last))) => {
                // The last sample is in the last slice.
                let len = ((last - first + 1) as f64 * share).ceil() as u64;
                Some((first, len.max(1)))
            }
            _ => None,
        };
        Self { by, slices, slice: (0, 0), session: Session::default() }
    }

    /// Takes a record that is no sample.
    pub fn note(&mut self, meta: &Meta, raw: &Raw<'_>) {
        if self.by == By::Comm {
            self.session.apply(meta, raw);
        }
    }

    /// The part of a sample of so many bytes; `None` where it does not tell.
    pub fn of_sample(&mut self, told: PartCriteria, bytes: u64) -> Option<Key> {
        let most = match self.by {
            By::Samples(count) => count,
            By::Size(size) => size,
            By::Time(len) => {
                // Slices begin with the first sample, whatever else there is before it.
                self.slices = self.slices.or(told.time.map(|time| (time, len)));
                return self.of(told);
            }
            _ => return self.of(told),
        };
        if self.slice.1 >= most {
            self.slice = (self.slice.0 + 1, 0);
        }
        self.slice.1 += if matches!(self.by, By::Size(_)) { bytes } else { 1 };
        Some(Key::Number(self.slice.0))
    }

    /// The part of what tells this; `None` where it does not tell.
    pub fn of(&self, told: PartCriteria) -> Option<Key> {
        let number = match self.by {
            By::Time(_) | By::Share(_) => {
                let (first, len) = self.slices?;
                told.time?.saturating_sub(first) / len
            }
            By::Size(_) | By::Samples(_) => self.slice.0,
            By::Pid => told.task?.0.into(),
            By::Tid => told.task?.1.into(),
            By::Cpu => told.cpu?.into(),
            By::Comm => return Some(Key::Name(called(&self.session, told.task?.1).into_owned())),
            By::Event => return None,
        };
        Some(Key::Number(number))
    }
}

/// Whether these are what the parts of some split are called, all of one, in their order.
pub fn are_parts(names: &[String]) -> bool {
    let is_by = |by| names.iter().all(|name| name.starts_with(prefix(by)));
    let width = names.first().map_or(0, String::len).max(LEAST_WIDTH);
    let is_sliced = names.iter().enumerate().all(|(nth, name)| *name == format!("{nth:0>width$}"));
    is_sliced || [By::Pid, By::Tid, By::Cpu, By::Comm, By::Event].into_iter().any(is_by)
}

/// How many digits parts have at least that are called by their number.
const LEAST_WIDTH: usize = 3;

/// What the names of parts begin with.
fn prefix(by: By) -> &'static str {
    match by {
        By::Pid => "pid-",
        By::Tid => "tid-",
        By::Cpu => "cpu-",
        By::Comm => "comm-",
        By::Event => "event-",
        _ => "",
    }
}

/// What parts of these keys are called, so that their names are in the order of the keys.
pub fn names(by: By, keys: &[&Key]) -> Vec<String> {
    let prefix = prefix(by);
    // Processes and threads are told as signed numbers, as perf has them.
    let number = |number: u64| match by {
        By::Pid | By::Tid => (number as u32 as i32).to_string(),
        _ => number.to_string(),
    };
    let text = |(nth, key): (usize, &&Key)| match key {
        _ if by.is_sliced() => nth.to_string(),
        Key::Number(of) => number(*of),
        Key::Name(name) => String::from_utf8_lossy(name).into_owned(),
    };
    let texts: Vec<_> = keys.iter().enumerate().map(text).collect();
    let least = if by.is_sliced() { LEAST_WIDTH } else { 1 };
    let width = texts.iter().map(String::len).max().unwrap_or(0).max(least);
    let padded = |text: String| match by {
        By::Comm | By::Event => format!("{prefix}{text}"),
        _ => format!("{prefix}{text:0>width$}"),
    };
    texts.into_iter().map(padded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_begin_with_the_first_sample() {
        let at = |time| PartCriteria { time: Some(time), ..PartCriteria::default() };
        let mut choice = Choice::new(By::Time(100), None);
        assert_eq!(choice.of(at(10)), None, "there are no slices yet");
        assert_eq!(choice.of_sample(at(100), 8), Some(Key::Number(0)));
        assert_eq!(choice.of_sample(at(199), 8), Some(Key::Number(0)));
        assert_eq!(choice.of(at(200)), Some(Key::Number(1)));
    }
}
