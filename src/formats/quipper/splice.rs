//! Differences between stored bytes and those encoded from fields.

use super::proto::perf_data_proto::Splice;

impl Splice {
    /// The splice that turns `built` into `wanted`; `None` if they are equal.
    pub fn between(built: &[u8], wanted: &[u8]) -> Option<Self> {
        if built == wanted {
            return None;
        }
        let before = built.iter().zip(wanted).take_while(|(a, b)| a == b).count();
        let (built, wanted) = (&built[before..], &wanted[before..]);
        let behind = built.iter().rev().zip(wanted.iter().rev()).take_while(|(a, b)| a == b).count();
        let (len, with) = (built.len() - behind, &wanted[..wanted.len() - behind]);
        Some(Self { at: Some(before as u64), len: Some(len as u64), with: Some(with.to_vec()) })
    }

    /// Applies the splice. `None` if it does not fit.
    pub fn apply(&self, built: &mut Vec<u8>) -> Option<()> {
        let at = usize::try_from(self.at()).ok()?;
        let end = at.checked_add(usize::try_from(self.len()).ok()?).filter(|&end| end <= built.len())?;
        built.splice(at..end, self.with().iter().copied());
        Some(())
    }
}

/// Bytes encoded from fields, with the splice applied if there is one.
pub(super) fn spliced(mut built: Vec<u8>, splice: Option<&Splice>) -> Option<Vec<u8>> {
    splice.map_or(Some(()), |splice| splice.apply(&mut built))?;
    Some(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splice_contains_only_the_difference() {
        for (built, wanted, with) in [
            (&b"abcdef"[..], &b"abXYef"[..], &b"XY"[..]),
            (b"abab", b"ab", b""),
            (b"ab", b"abab", b"ab"),
            (b"", b"new", b"new"),
            (b"old", b"", b""),
        ] {
            let splice = Splice::between(built, wanted).unwrap();
            assert_eq!(splice.with(), with);
            assert_eq!(spliced(built.to_vec(), Some(&splice)).unwrap(), wanted);
        }
        assert_eq!(Splice::between(b"same", b"same"), None);
    }

    #[test]
    fn rejects_a_splice_that_does_not_fit() {
        let splice = Splice { at: Some(2), len: Some(u64::MAX), with: None };
        assert_eq!(spliced(b"abcdef".to_vec(), Some(&splice)), None);
    }
}
