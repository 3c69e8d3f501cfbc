//! The criterion of a split (`--by`).

use crate::quantity::{TIME_UNITS, scaled};
use crate::suggest::unknown;
use std::fmt;
use std::str::FromStr;

/// The criterion of a split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    /// Slices of this many nanoseconds; the first one starts at the first sample.
    Time(u64),
    /// Slices of this share (at most 1) of the time between the first and the last sample.
    Share(f64),
    /// Slices whose samples take this many bytes; the last sample of a slice may exceed it.
    Size(u64),
    /// Slices of this many samples.
    Samples(u64),
    /// One part for each process.
    Pid,
    /// One part for each thread.
    Tid,
    /// One part for each thread name.
    Comm,
    /// One part for each CPU.
    Cpu,
    /// One part for each event; events that are read with each other's samples (`:S`) are one part.
    Event,
}

impl By {
    /// Whether parts follow each other in time.
    pub fn is_sliced(self) -> bool {
        matches!(self, Self::Time(_) | Self::Share(_) | Self::Size(_) | Self::Samples(_))
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time(_) | Self::Share(_) => "--by time",
            Self::Size(_) => "--by size",
            Self::Samples(_) => "--by samples",
            Self::Pid => "--by pid",
            Self::Tid => "--by tid",
            Self::Comm => "--by comm",
            Self::Cpu => "--by cpu",
            Self::Event => "--by event",
        })
    }
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.trim())));
        match (name, value) {
            ("pid", None) => Ok(Self::Pid),
            ("tid", None) => Ok(Self::Tid),
            ("comm", None) => Ok(Self::Comm),
            ("cpu", None) => Ok(Self::Cpu),
            ("event", None) => Ok(Self::Event),
            ("samples", Some(count)) => {
                let count = count.parse().ok().filter(|&count| count > 0);
                count.map(Self::Samples).ok_or_else(|| "samples=N requires a number of at least 1".to_owned())
            }
            ("size", Some(size)) => {
                let size = scaled(size, &[("", 1), ("B", 1), ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)]);
                size.map(Self::Size)
                    .ok_or_else(|| "size=N requires a size of at least 1, such as 4096, 100K, 10M or 1G".to_owned())
            }
            ("time", Some(share)) if share.ends_with('%') => {
                let share =
                    share.trim_end_matches('%').trim().parse().ok().filter(|share| *share > 0.0 && *share <= 100.0);
                share
                    .map(|share: f64| Self::Share(share / 100.0))
                    .ok_or_else(|| "time=N% requires a share above 0% and up to 100%".to_owned())
            }
            ("time", Some(time)) => scaled(time, &TIME_UNITS)
                .map(Self::Time)
                .ok_or_else(|| "time=N requires a time such as 1s or 250ms, or a share such as 10%".to_owned()),
            ("time" | "size" | "samples", None) => {
                Err(format!("{name} requires a value, such as {name}={}", example(name)))
            }
            ("pid" | "tid" | "comm" | "cpu" | "event", Some(_)) => {
                Err(format!("{name} takes no value; it creates a part for each {name}"))
            }
            _ => Err(unknown("criterion", name, &["time", "size", "samples", "pid", "tid", "comm", "cpu", "event"])),
        }
    }
}

fn example(name: &str) -> &'static str {
    match name {
        "time" => "1s",
        "size" => "100M",
        _ => "10000",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_valid_criteria_and_rejects_others() {
        for (text, by) in [
            ("time=1s", By::Time(1_000_000_000)),
            ("time=2.5ms", By::Time(2_500_000)),
            ("time=10%", By::Share(0.1)),
            ("size=100M", By::Size(100 << 20)),
            ("size=4096", By::Size(4096)),
            ("samples=7", By::Samples(7)),
            ("pid", By::Pid),
            ("event", By::Event),
        ] {
            assert_eq!(text.parse(), Ok(by), "{text}");
        }
        for text in [
            "",
            "time",
            "time=",
            "time=1",
            "time=0s",
            "time=0%",
            "time=101%",
            "size=0",
            "size=1T",
            "samples=0",
            "samples=-1",
            "pid=1",
            "dso",
        ] {
            assert!(text.parse::<By>().is_err(), "{text}");
        }
    }
}
