//! What AUXTRACE_INFO says about the CPUs that wrote a trace.

use std::collections::BTreeMap;

/// The private words of AUXTRACE_INFO.
///
/// Version 1, up to perf 6.12, has two: type of the PMU, whether buffers are those of CPUs. Version 2 has: version, number of words
/// of this header, type of the PMU, number of CPUs; then for each CPU: magic, number, number of parameters, MIDR, ...
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpeMetadata {
    /// Type of the PMU, by which its event is found.
    pub pmu_type: u32,
    /// `MIDR_EL1` by CPU, which identifies its model; empty in version 1.
    pub midr: BTreeMap<i32, u64>,
}

impl SpeMetadata {
    /// Decodes the words; what is missing or malformed is left out.
    pub fn parse(words: &[u64]) -> Self {
        let word = |index: usize| words.get(index).copied();
        // Version 1 has no version: its first word is the type of a PMU.
        if words.len() <= 2 {
            return Self { pmu_type: word(0).unwrap_or(0) as u32, ..Self::default() };
        }
        let mut metadata = Self { pmu_type: word(2).unwrap_or(0) as u32, ..Self::default() };
        let mut at = word(1).and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX);
        while let Some([_, cpu, parameters, rest @ ..]) = words.get(at..) {
            if let Some(&midr) = rest.first() {
                metadata.midr.insert(*cpu as i32, midr);
            }
            let Some(next) = usize::try_from(*parameters).ok().and_then(|count| at.checked_add(3)?.checked_add(count))
            else {
                break;
            };
            at = next;
        }
        metadata
    }

    /// The model of a CPU; of a thread, whose CPU is unknown, that of all CPUs if they are equal.
    pub fn midr(&self, cpu: i32) -> Option<u64> {
        let mut all = self.midr.values().copied();
        match self.midr.get(&cpu) {
            Some(&midr) => Some(midr),
            None if cpu < 0 => all.next().filter(|first| all.all(|midr| midr == *first)),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_both_versions() {
        let old = SpeMetadata::parse(&[10, 1]);
        assert_eq!((old.pmu_type, old.midr(0)), (10, None));
        let cpu = |number, midr| [0x1010_1010_1010_1010, number, 4, midr, 10, 1024, 2];
        let words = [&[2, 4, 10, 2][..], &cpu(0, 7), &cpu(1, 8)].concat();
        let new = SpeMetadata::parse(&words);
        assert_eq!(
            (new.pmu_type, new.midr(0), new.midr(1), new.midr(2), new.midr(-1)),
            (10, Some(7), Some(8), None, None)
        );
        let equal = SpeMetadata::parse(&[&[2, 4, 10, 2][..], &cpu(0, 7), &cpu(1, 7)].concat());
        assert_eq!(equal.midr(-1), Some(7));
    }

    #[test]
    fn malformed_words_are_left_out() {
        for words in [&[][..], &[2, u64::MAX, 10, 1], &[2, 4, 10, 1, 9, 0, u64::MAX, 5], &[2, 4, 10, 1, 9, 0]] {
            SpeMetadata::parse(words);
        }
        assert_eq!(SpeMetadata::parse(&[2, 4, 10, 1, 9, 0, u64::MAX, 5]).midr(0), Some(5));
    }
}
