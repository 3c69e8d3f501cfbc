//! Numbers with units, as users write them.

/// Units of time, in nanoseconds.
pub(crate) const TIME_UNITS: [(&str, u64); 6] =
    [("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000)];

/// Parses a number with a unit, which may have decimals; the result is at least 1.
pub(crate) fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (text[..end].parse::<f64>().ok()?, text[end..].trim());
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    let scaled = number * *factor as f64;
    (scaled >= 1.0 && scaled < u64::MAX as f64).then_some(scaled as u64)
}
