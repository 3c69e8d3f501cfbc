//! Samples of a decoded profile.

use perf_data::session::interned::Interned;

/// One or more samples with the same stack and labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceSample {
    /// Event number.
    pub event: u32,
    /// Stack number.
    pub stack: u32,
    /// Process.
    pub pid: Option<u32>,
    /// Thread.
    pub tid: Option<u32>,
    /// Name of the process.
    pub comm: Option<u32>,
    /// Name of the thread.
    pub thread_comm: Option<u32>,
    /// CPU.
    pub cpu: Option<u32>,
    /// Time.
    pub time: Option<u64>,
    /// Path of the cgroup.
    pub cgroup: Option<u32>,
    /// Number of the set of further labels.
    pub labels: u32,
    /// Number of samples; `None` if unknown.
    pub count: Option<u64>,
    /// Sum of their periods.
    pub value: u64,
}

/// Samples, of which there may be millions: what many of them have in common is stored once.
#[derive(Debug, Default)]
pub struct SourceSamples {
    list: Vec<Stored>,
    contexts: Interned<Context>,
    /// The number of the latest context, which the next sample often has, too.
    latest: u32,
}

/// What differs between samples.
#[derive(Clone, Copy, Debug)]
struct Stored {
    context: u32,
    stack: u32,
    time: Option<u64>,
    count: Option<u64>,
    value: u64,
}

/// A sample without what differs between samples.
type Context = SourceSample;

impl SourceSamples {
    /// Adds a sample.
    pub fn push(&mut self, sample: SourceSample) {
        let SourceSample { stack, time, count, value, .. } = sample;
        let context = Context { stack: 0, time: None, count: None, value: 0, ..sample };
        if self.contexts.list().get(self.latest as usize) != Some(&context) {
            self.latest = self.contexts.id(context);
        }
        self.list.push(Stored { context: self.latest, stack, time, count, value });
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// A sample.
    pub fn get(&self, index: usize) -> SourceSample {
        self.sample(&self.list[index])
    }

    /// All samples.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SourceSample> {
        self.list.iter().map(|stored| self.sample(stored))
    }

    fn sample(&self, &Stored { context, stack, time, count, value }: &Stored) -> SourceSample {
        SourceSample { stack, time, count, value, ..self.contexts.list()[context as usize] }
    }
}

impl FromIterator<SourceSample> for SourceSamples {
    fn from_iter<I: IntoIterator<Item = SourceSample>>(samples: I) -> Self {
        let mut all = Self::default();
        samples.into_iter().for_each(|sample| all.push(sample));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_as_they_were_added() {
        let task =
            SourceSample { pid: Some(1), tid: Some(2), comm: Some(3), cpu: Some(0), labels: 4, ..<_>::default() };
        let samples = [
            SourceSample { stack: 5, time: Some(0), count: Some(0), value: u64::MAX, ..task },
            SourceSample { stack: 6, ..task },
            SourceSample { event: 1, thread_comm: Some(0), cgroup: Some(9), ..task },
            task,
        ];
        let stored: SourceSamples = samples.into_iter().collect();
        assert!(stored.iter().eq(samples));
        assert_eq!((stored.len(), stored.contexts.list().len(), stored.get(2)), (4, 2, samples[2]));
    }
}
