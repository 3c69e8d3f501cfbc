//! How many samples a value becomes.

use super::labels::Fields;
use super::source::{SourceProfile, SourceSample};
use super::{ImportOptions, MOST_FRAMES};

/// What becomes of values that stand for more than one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// As many samples as are counted, the value spread over them; one, where samples are not counted.
    #[default]
    Counted,
    /// As many samples as are counted; where they are not, as many as there are periods in the value.
    Spread,
    /// One sample, with the whole value as its period.
    Carry,
}

/// How many samples one that was told becomes. None where nothing was counted.
pub fn samples(told: &SourceProfile, sample: &SourceSample, values: Values) -> u64 {
    let period = told.events.get(sample.event as usize).map_or(0, |event| event.period);
    match (values, sample.count) {
        (_, Some(0) | None) if sample.value == 0 => 0,
        (Values::Carry, _) => 1,
        // What has a value was sampled.
        (_, Some(count)) => count.max(1),
        (Values::Spread, None) => sample.value.div_ceil(period.max(1)).min(if period == 0 { 1 } else { u64::MAX }),
        (Values::Counted, None) => 1,
    }
}

/// Bytes that a sample takes besides its stack and its labels, and those that it may take on average.
const SAMPLE: u64 = 64;
const AVERAGE: u64 = 128;

/// How many samples all become.
///
/// # Errors
/// Where these are more, or take more, than a recording is to hold.
pub(super) fn total(told: &SourceProfile, labels: &Fields, options: &ImportOptions) -> Result<u64, String> {
    let most = options.most_samples;
    let most_bytes = most.saturating_mul(AVERAGE);
    let (mut total, mut bytes) = (0_u64, 0_u64);
    for sample in &told.samples {
        let count = samples(told, sample, options.values);
        let frames = told.stacks.get(sample.stack).len().min(MOST_FRAMES) as u64;
        let size = SAMPLE + frames * size_of::<u64>() as u64 + labels.size(sample.event);
        total = total.saturating_add(count);
        bytes = bytes.saturating_add(count.saturating_mul(size));
        let what = match (total > most, bytes > most_bytes) {
            (true, _) => format!("more than {most} samples"),
            (_, true) => format!("samples of more than {most_bytes} bytes"),
            _ => continue,
        };
        let how = "which a recording would hold one by one; --values carry has one of each stack";
        return Err(format!("it counts {what}, {how}"));
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::import::source::SourceEvent;

    #[test]
    fn values_are_spread_or_carried_as_chosen() {
        let event = |period| SourceEvent { period, ..SourceEvent::default() };
        let told = SourceProfile { events: vec![event(0), event(100)], ..SourceProfile::default() };
        let of = |event, count, value| {
            let sample = SourceSample { event, count, value, ..SourceSample::default() };
            [Values::Counted, Values::Spread, Values::Carry].map(|values| samples(&told, &sample, values))
        };
        assert_eq!(of(0, Some(3), 7), [3, 3, 1]);
        assert_eq!(of(0, Some(0), 7), [1, 1, 1]);
        assert_eq!(of(0, Some(3), 0), [3, 3, 1]);
        assert_eq!((of(0, Some(0), 0), of(1, None, 0)), ([0, 0, 0], [0, 0, 0]));
        assert_eq!(of(1, None, 201), [1, 3, 1]);
        assert_eq!(of(0, None, 201), [1, 1, 1]);
    }
}
