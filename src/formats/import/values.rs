//! Expands values to samples.

use super::labels::LabelFields;
use super::source::{SourceProfile, SourceSample};
use super::{ImportOptions, MAX_FRAMES};

/// How to expand a value that aggregates many samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// As many samples as were counted, with the value spread over them; one sample without a count.
    #[default]
    Counted,
    /// As many samples as were counted; without a count, one per period in the value.
    Spread,
    /// One sample, with the entire value as its period.
    Single,
}

/// Number of samples for one of the profile; 0 if it counted nothing.
pub(super) fn samples(profile: &SourceProfile, sample: &SourceSample, values: Values) -> u64 {
    let period = profile.events.get(sample.event as usize).map_or(0, |event| event.period);
    match (values, sample.count) {
        (_, Some(0) | None) if sample.value == 0 => 0,
        (Values::Single, _) => 1,
        // A nonzero value implies a sample.
        (_, Some(count)) => count.max(1),
        (Values::Spread, None) => sample.value.div_ceil(period.max(1)).min(if period == 0 { 1 } else { u64::MAX }),
        (Values::Counted, None) => 1,
    }
}

/// Bytes of a sample other than stack and labels, and the limit on average.
const SAMPLE: u64 = 64;
const AVERAGE: u64 = 128;

/// Total number of samples.
///
/// # Errors
/// If their number or size exceeds the limit.
pub(super) fn total(profile: &SourceProfile, labels: &LabelFields, options: &ImportOptions) -> Result<u64, String> {
    let max = options.most_samples;
    let max_bytes = max.saturating_mul(AVERAGE);
    let (mut total, mut bytes) = (0_u64, 0_u64);
    for sample in profile.samples.iter() {
        let count = samples(profile, &sample, options.values);
        let frames = profile.stacks.get(sample.stack).len().min(MAX_FRAMES) as u64;
        let size = SAMPLE + frames * size_of::<u64>() as u64 + labels.size(sample.event);
        total = total.saturating_add(count);
        bytes = bytes.saturating_add(count.saturating_mul(size));
        let problem = match (total > max, bytes > max_bytes) {
            (true, _) => format!("it would have more than {max} samples"),
            (_, true) => format!("its samples would take more than {max_bytes} bytes"),
            _ => continue,
        };
        let how = "in a recording; use --values single for one sample per stack";
        return Err(format!("{problem} {how}"));
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::import::source::SourceEvent;

    #[test]
    fn expands_values_by_mode() {
        let event = |period| SourceEvent { period, ..SourceEvent::default() };
        let profile = SourceProfile { events: vec![event(0), event(100)], ..SourceProfile::default() };
        let sample_counts = |event, count, value| {
            let sample = SourceSample { event, count, value, ..SourceSample::default() };
            [Values::Counted, Values::Spread, Values::Single].map(|values| samples(&profile, &sample, values))
        };
        assert_eq!(sample_counts(0, Some(3), 7), [3, 3, 1]);
        assert_eq!(sample_counts(0, Some(0), 7), [1, 1, 1]);
        assert_eq!(sample_counts(0, Some(3), 0), [3, 3, 1]);
        assert_eq!((sample_counts(0, Some(0), 0), sample_counts(1, None, 0)), ([0, 0, 0], [0, 0, 0]));
        assert_eq!(sample_counts(1, None, 201), [1, 3, 1]);
        assert_eq!(sample_counts(0, None, 201), [1, 1, 1]);
    }
}
