//! Ranges of numbers, in the notation of perf and sysfs for CPUs and memory blocks.

/// Formats ascending numbers as ranges: `0-1,3`.
pub(super) fn format_ranges(numbers: impl IntoIterator<Item = u64>) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |&(first, last): &(u64, u64)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_numbers_are_ranges() {
        assert_eq!(format_ranges([0, 1, 2, 4, 6, 7]), "0-2,4,6-7");
        assert_eq!(format_ranges([]), "");
    }
}
