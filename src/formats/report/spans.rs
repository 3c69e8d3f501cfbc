//! How long spans are, in reports on these.

use super::style::line;
use crate::profile::weight::lengths::Lengths;
use serde_json::{Value, json};

/// Headings of the columns of text.
pub(super) const COLUMNS: &str = "     min us   median us     99 % us      max us";

/// Names of the columns of comma-separated values.
pub(super) const CSV: [&str; 4] = ["min_ns", "median_ns", "p99_ns", "max_ns"];

/// Number of characters of the longest bar of a histogram.
const BAR: u64 = 40;

/// The columns of text.
pub(super) fn columns(lengths: &Lengths) -> String {
    let [min, median, high, max] = numbers(lengths).map(microseconds);
    format!("{min:>11}  {median:>10}  {high:>10}  {max:>10}")
}

/// The shortest length, the median, the length of which 99 % are at most as long, and the longest.
pub(super) fn numbers(lengths: &Lengths) -> [u64; 4] {
    lengths.summary().unwrap_or_default()
}

/// The numbers of lengths between powers of two, as lines with bars.
pub(super) fn histogram(lengths: &Lengths) -> String {
    let powers = lengths.histogram();
    let most = powers.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let mut text = String::new();
    line!(text, "    from us       spans");
    for (from, count) in powers {
        let bar = "#".repeat((u128::from(count) * u128::from(BAR)).div_ceil(most.into()) as usize);
        let line = format!("{:>11}  {count:>10}  {bar}", microseconds(from));
        line!(text, "{}", line.trim_end());
    }
    text
}

/// The numbers, and those of lengths between powers of two, in nanoseconds.
pub(super) fn object(lengths: &Lengths) -> Value {
    let mut object: serde_json::Map<_, _> =
        CSV.iter().zip(numbers(lengths)).map(|(name, number)| ((*name).to_owned(), json!(number))).collect();
    let powers = lengths.histogram().into_iter().map(|(from, count)| json!({ "from_ns": from, "count": count }));
    object.insert("histogram".to_owned(), powers.collect());
    Value::from(object)
}

fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}
