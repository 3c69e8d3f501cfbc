//! Assigns samples to parts, and names parts.

use super::criterion::By;
use perf_data::abi::sample::view::SampleView;
use perf_data::session::Session;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Identifies a part.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PartKey {
    /// Number of a slice, process, thread or CPU.
    Number(u64),
    /// Name of a thread.
    Name(Vec<u8>),
}

/// The fields of a sample or a trailer that select a part.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartCriteria {
    task: Option<(u32, u32)>,
    cpu: Option<u32>,
    time: Option<u64>,
}

impl PartCriteria {
    /// Takes the fields of a sample.
    pub fn by_sample(view: &SampleView<'_>) -> Self {
        Self { task: view.task, cpu: view.cpu.map(|(cpu, _)| cpu), time: view.time }
    }

    /// Takes the fields of another record's trailer.
    pub fn by_trailer(meta: &Meta, raw: &Raw<'_>) -> Self {
        let trailer = meta.events.split(raw).1.unwrap_or_default();
        Self { task: trailer.task, cpu: trailer.cpu.map(|(cpu, _)| cpu), time: trailer.time }
    }
}

/// Assigns samples to parts. For the same samples in the same order, the result is the same.
pub struct Choice {
    by: By,
    /// Start of the first slice, and length of each.
    slices: Option<(u64, u64)>,
    /// Number of the current slice, and the samples or bytes in it.
    slice: (u64, u64),
    session: Session,
}

impl Choice {
    /// Creates the assignment. Shares of time require the time range of the samples.
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

    /// Processes a record other than a sample.
    pub fn note(&mut self, meta: &Meta, raw: &Raw<'_>) {
        // Only thread names follow from other records.
        if self.by == By::Comm {
            self.session.apply(meta, raw);
        }
    }

    /// The part of a sample of `bytes` bytes; `None` if the sample lacks the field.
    pub fn sample_key(&mut self, criteria: PartCriteria, bytes: u64) -> Option<PartKey> {
        let limit = match self.by {
            By::Samples(count) => count,
            By::Size(size) => size,
            By::Time(len) => {
                // Slices start at the first sample, regardless of earlier records.
                self.slices = self.slices.or(criteria.time.map(|time| (time, len)));
                return self.key(criteria);
            }
            _ => return self.key(criteria),
        };
        if self.slice.1 >= limit {
            self.slice = (self.slice.0 + 1, 0);
        }
        self.slice.1 += if matches!(self.by, By::Size(_)) { bytes } else { 1 };
        Some(PartKey::Number(self.slice.0))
    }

    /// The part for these fields; `None` if the required one is missing.
    pub fn key(&self, criteria: PartCriteria) -> Option<PartKey> {
        let number = match self.by {
            By::Time(_) | By::Share(_) => {
                let (first, len) = self.slices?;
                criteria.time?.saturating_sub(first) / len
            }
            By::Size(_) | By::Samples(_) => self.slice.0,
            By::Pid => criteria.task?.0.into(),
            By::Tid => criteria.task?.1.into(),
            By::Cpu => criteria.cpu?.into(),
            By::Comm => return Some(PartKey::Name(self.session.thread_name(criteria.task?.1).into_owned())),
            By::Event => return None,
        };
        Some(PartKey::Number(number))
    }
}

/// Whether these names, in this order, are those of all parts of one split.
pub fn are_parts(names: &[String]) -> bool {
    let is_by = |by| names.iter().all(|name| name.starts_with(prefix(by)));
    let width = names.first().map_or(0, String::len).max(MIN_WIDTH);
    let is_sliced = names.iter().enumerate().all(|(nth, name)| *name == format!("{nth:0>width$}"));
    is_sliced || [By::Pid, By::Tid, By::Cpu, By::Comm, By::Event].into_iter().any(is_by)
}

/// Minimum digits in the name of a numbered part, so that programs list most of them in order.
const MIN_WIDTH: usize = 3;

/// Prefix of the names of parts.
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

/// Names the parts of these keys, so that names sort as keys do.
pub fn names(by: By, keys: &[&PartKey]) -> Vec<String> {
    let prefix = prefix(by);
    // Process and thread IDs are signed, as in perf.
    let number = |number: u64| match by {
        By::Pid | By::Tid => (number as u32 as i32).to_string(),
        _ => number.to_string(),
    };
    let text = |(nth, key): (usize, &&PartKey)| match key {
        _ if by.is_sliced() => nth.to_string(),
        PartKey::Number(value) => number(*value),
        PartKey::Name(name) => String::from_utf8_lossy(name).into_owned(),
    };
    let texts: Vec<_> = keys.iter().enumerate().map(text).collect();
    let min = if by.is_sliced() { MIN_WIDTH } else { 1 };
    let width = texts.iter().map(String::len).max().unwrap_or(0).max(min);
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
    fn slices_start_at_the_first_sample() {
        let at = |time| PartCriteria { time: Some(time), ..PartCriteria::default() };
        let mut choice = Choice::new(By::Time(100), None);
        assert_eq!(choice.key(at(10)), None, "there are no slices yet");
        assert_eq!(choice.sample_key(at(100), 8), Some(PartKey::Number(0)));
        assert_eq!(choice.sample_key(at(199), 8), Some(PartKey::Number(0)));
        assert_eq!(choice.key(at(200)), Some(PartKey::Number(1)));
    }
}
