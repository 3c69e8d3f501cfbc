//! How many samples a value becomes.

use super::told::{Told, ToldSample};

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
pub fn samples(told: &Told, sample: &ToldSample, values: Values) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::import::told::ToldEvent;

    #[test]
    fn values_are_spread_or_carried_as_chosen() {
        let event = |period| ToldEvent { period, ..ToldEvent::default() };
        let told = Told { events: vec![event(0), event(100)], ..Told::default() };
        let of = |event, count, value| {
            let sample = ToldSample { event, count, value, ..ToldSample::default() };
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
