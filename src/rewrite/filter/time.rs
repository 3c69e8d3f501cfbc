//! Keeps samples of certain times: `--time`, with the syntax of perf script.

use super::not_found::missing_field;
use super::pass::{Filter, FilteredSample, extend};
use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use perf_data::abi;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::sample_time::SampleTime;
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use std::fmt;
use std::str::FromStr;

/// Keeps samples of certain times.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Time {
    /// Keep only samples of these times, in the syntax of perf script: START,STOP in seconds, either may be omitted, several intervals
    /// separated by spaces; or parts of the time between the first and the last sample, separated by commas: 10%-30%,
    /// 10%/2 (the second tenth), or 10% (the first).
    #[cfg_attr(feature = "cli", arg(long = "time", id = "time", value_name = "TIMES", allow_hyphen_values = true))]
    pub times: Times,
}

impl Time {
    /// The filter of these.
    pub fn new(times: Times) -> Self {
        Self { times }
    }
}

impl PassOptions for Time {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        context.filter(TimeFilter::new(self.times.clone()))
    }
}

/// Wanted times.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Times {
    /// `START,STOP`, in seconds with up to nine decimals, either of them optional; several separated by spaces.
    Absolute(Vec<Interval>),
    /// `A%-B%`, `A%/N` (the `N`th `A%`) or `A%` (the first), several separated by commas: shares of the time between the first
    /// and the last sample.
    Shares(Vec<Share>),
}

/// A time interval, inclusive at both ends, in nanoseconds of the recording's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// First nanosecond.
    pub start: u64,
    /// Last nanosecond.
    pub end: u64,
}

/// A share of the recording's time, between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Start.
    pub start: f64,
    /// End.
    pub end: f64,
}

impl FromStr for Times {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if text.contains('%') {
            return text
                .split(',')
                .map(|share| share.trim().parse())
                .collect::<std::result::Result<_, _>>()
                .map(Self::Shares);
        }
        // The comma may be followed by a space.
        let text = text.trim().replace(", ", ",");
        let list: Vec<Interval> = text.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>()?;
        match list.windows(2).find(|pair| pair[0].end >= pair[1].start) {
            _ if list.is_empty() => Err("expected a time".to_owned()),
            Some(_) => Err("intervals must be in order and must not overlap".to_owned()),
            None => Ok(Self::Absolute(list)),
        }
    }
}

impl FromStr for Interval {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (start, end) = text.split_once(',').ok_or_else(|| format!("'{text}' is not START,STOP"))?;
        let start = if start.is_empty() { 0 } else { nanoseconds(start)? };
        let end = if end.is_empty() { u64::MAX } else { nanoseconds(end)? };
        if start > end { Err(format!("'{text}' ends before it starts")) } else { Ok(Self { start, end }) }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = (Seconds(self.start), Seconds(self.end));
        match (self.start, self.end) {
            (_, u64::MAX) => write!(f, "from {start}"),
            (0, _) => write!(f, "until {end}"),
            _ => write!(f, "from {start} to {end}"),
        }
    }
}

/// A time in nanoseconds, shown in seconds.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Parses seconds with up to nine decimals.
fn nanoseconds(text: &str) -> std::result::Result<u64, String> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let number = (!seconds.is_empty() && decimals.len() <= 9 && is_number(seconds) && is_number(decimals))
        .then(|| format!("{seconds}{decimals:0<9}").parse().ok());
    number.flatten().ok_or_else(|| format!("'{text}' is not a time in seconds with up to nine decimals"))
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let percent = |text: &str| {
            let number = text.trim().strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
            let number = number.filter(|number| (0.0..=100.0).contains(number));
            number.map(|number| number / 100.0).ok_or_else(|| format!("'{text}' is not between 0% and 100%"))
        };
        let share = if let Some((share, nth)) = text.split_once('/') {
            let (share, nth) = (percent(share)?, nth.trim().parse::<u32>().unwrap_or(0));
            if nth == 0 {
                return Err(format!("'{text}' is not A%/N with N of at least 1"));
            }
            Self { start: share * f64::from(nth - 1), end: share * f64::from(nth) }
        } else if let Some((start, end)) = text.split_once('-') {
            Self { start: percent(start)?, end: percent(end)? }
        } else {
            Self { start: 0.0, end: percent(text)? }
        };
        match share {
            Self { end, .. } if end > 1.0 => Err(format!("'{text}' is beyond 100%")),
            Self { start, end } if start > end => Err(format!("'{text}' ends before it starts")),
            share => Ok(share),
        }
    }
}

impl Share {
    /// The interval in a recording whose samples range from `first` to `last`. Adjacent shares do not overlap.
    fn interval(self, first: u64, last: u64) -> Interval {
        let total = last.saturating_sub(first) as f64;
        let at = |share: f64| first.saturating_add((share * total).round() as u64).min(last);
        let (start, end) = (at(self.start), at(self.end));
        let is_followed = end > start && end != last;
        Interval { start, end: end - u64::from(is_followed) }
    }
}

/// Keeps samples of certain times; those with a time of 0 are kept.
#[derive(Clone, Debug)]
pub struct TimeFilter {
    wanted: Times,
    /// The wanted intervals, once they are known.
    intervals: Option<Vec<Interval>>,
    /// Times of the first and the last sample.
    sampled: Option<(u64, u64)>,
    without_field: u64,
}

impl TimeFilter {
    /// Creates a filter of these times.
    pub fn new(wanted: Times) -> Self {
        Self { wanted, intervals: None, sampled: None, without_field: 0 }
    }

    /// Resolves shares: of SAMPLE_TIME if present, as in perf, otherwise of the times of the samples.
    fn resolve(&mut self, meta: &Meta, sampled: Option<(u64, u64)>) {
        self.intervals = match &self.wanted {
            Times::Absolute(intervals) => Some(intervals.clone()),
            Times::Shares(shares) => {
                let times = sample_time(meta).or(sampled);
                times.map(|(first, last)| shares.iter().map(|share| share.interval(first, last)).collect())
            }
        };
    }
}

/// The times of the first and the last sample from SAMPLE_TIME.
fn sample_time(meta: &Meta) -> Option<(u64, u64)> {
    let section = meta.features.get(&FeatureId::SAMPLE_TIME)?;
    let (time, _) = abi::parse::<SampleTime>(section, meta.endian, ()).ok()?;
    let SampleTime { first_sample_time: first, last_sample_time: last } = time;
    (first != 0 && first <= last).then_some((first, last))
}

impl Filter for TimeFilter {
    fn option(&self) -> &'static str {
        "--time"
    }

    fn begin(&mut self, meta: &Meta) {
        self.without_field = 0;
        // The metadata of a pipe is complete only after the first pass.
        if self.intervals.is_none() {
            self.resolve(meta, None);
        }
    }

    fn keeps(&mut self, sample: &FilteredSample<'_>) -> bool {
        let Some(time) = sample.view.time else {
            self.without_field += 1;
            return false;
        };
        extend(&mut self.sampled, Some(time));
        self.intervals.as_ref().is_none_or(|intervals| {
            time == 0 || intervals.iter().any(|interval| (interval.start..=interval.end).contains(&time))
        })
    }

    fn check(&mut self, meta: &Meta) -> Result<()> {
        if self.without_field > 0 {
            return Err(missing_field(meta, self.option(), "a time", self.without_field));
        }
        if self.intervals.is_none() {
            self.resolve(meta, self.sampled);
        }
        match self.intervals {
            Some(_) => Ok(()),
            None => Err(Error::not_found("--time: no sample records a time, so shares of it are undefined")),
        }
    }

    fn report(&self, ledger: &mut Ledger) {
        let (Times::Absolute(intervals), Some((first, last))) = (&self.wanted, self.sampled) else { return };
        let (first_second, last_second) = (Seconds(first), Seconds(last));
        for interval in intervals.iter().filter(|interval| interval.end < first || interval.start > last) {
            ledger.note(format!("--time: no samples {interval}; samples are from {first_second} to {last_second}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_times_as_perf_does() {
        let interval = |start, end| Interval { start, end };
        let absolute = |text: &str| match text.parse() {
            Ok(Times::Absolute(list)) => list,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(absolute("1.5,2"), [interval(1_500_000_000, 2_000_000_000)]);
        assert_eq!(absolute(",0.000000001"), [interval(0, 1)]);
        assert_eq!(absolute("1, 2  3,"), [interval(1_000_000_000, 2_000_000_000), interval(3_000_000_000, u64::MAX)]);
        assert_eq!(absolute(","), [interval(0, u64::MAX)]);
        for text in ["", "abc", "1", "2,1", "1,2,3", "1.0000000001,", "-1,2", "1e3,", "1,2 2,3", "3,4 1,2", "1,10%"] {
            assert!(text.parse::<Times>().is_err(), "{text}");
        }
    }

    #[test]
    fn reports_intervals_without_samples() {
        let mut filter = TimeFilter::new("1,2 3,4.5 100,".parse().unwrap());
        filter.sampled = Some((2_500_000_000, 5_000_000_001));
        let mut ledger = Ledger::default();
        filter.report(&mut ledger);
        assert_eq!(
            ledger.notes(),
            [
                "--time: no samples from 1 to 2; samples are from 2.5 to 5.000000001",
                "--time: no samples from 100; samples are from 2.5 to 5.000000001"
            ]
        );
        assert_eq!(Interval { start: 0, end: 1 }.to_string(), "until 0.000000001");
    }

    #[test]
    fn parses_shares_as_perf_does() {
        let shares = |text: &str| match text.parse() {
            Ok(Times::Shares(list)) => {
                list.into_iter().map(|share: Share| share.interval(1000, 2000)).collect::<Vec<_>>()
            }
            other => panic!("{text}: {other:?}"),
        };
        let interval = |start, end| Interval { start, end };
        assert_eq!(shares("10%"), [interval(1000, 1099)]);
        assert_eq!(shares("10%/2,50%-100%"), [interval(1100, 1199), interval(1500, 2000)]);
        assert_eq!(shares("30%-40%, 0%-10%"), [interval(1300, 1399), interval(1000, 1099)]);
        let all = Share { start: 0.0, end: 1.0 };
        assert_eq!(all.interval(1, u64::MAX), interval(1, u64::MAX));
        for text in ["10%/0", "10%/11", "90%-110%", "20%-10%", "10 %/2 x", "10%/2 10%/3", "%", "nan%"] {
            assert!(text.parse::<Times>().is_err(), "{text}");
        }
    }
}
