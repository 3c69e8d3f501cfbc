//! Bytes as what is made of fields, and where they differ from it.

use super::proto::perf_data_proto::Splice;

impl Splice {
    /// What makes `wanted` of `made`; `None` where they are the same.
    pub fn between(made: &[u8], wanted: &[u8]) -> Option<Self> {
        if made == wanted {
            return None;
        }
        let before = made.iter().zip(wanted).take_while(|(a, b)| a == b).count();
        let (made, wanted) = (&made[before..], &wanted[before..]);
        let behind = made.iter().rev().zip(wanted.iter().rev()).take_while(|(a, b)| a == b).count();
        let (len, with) = (made.len() - behind, &wanted[..wanted.len() - behind]);
        Some(Self { at: Some(before as u64), len: Some(len as u64), with: Some(with.to_vec()) })
    }

    /// Makes what was wanted of what is made. `None` where something else is made now.
    pub fn apply(&self, made: &mut Vec<u8>) -> Option<()> {
        let at = usize::try_from(self.at()).ok()?;
        let end = at.checked_add(usize::try_from(self.len()).ok()?).filter(|&end| end <= made.len())?;
        made.splice(at..end, self.with().iter().copied());
        Some(())
    }
}

/// What is made of fields, with the difference if there is one.
pub fn spliced(mut made: Vec<u8>, splice: Option<&Splice>) -> Option<Vec<u8>> {
    splice.map_or(Some(()), |splice| splice.apply(&mut made))?;
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_kept() {
        for (made, wanted, with) in [
            (&b"abcdef"[..], &b"abXYef"[..], &b"XY"[..]),
            (b"abab", b"ab", b""),
            (b"ab", b"abab", b"ab"),
            (b"", b"new", b"new"),
            (b"old", b"", b""),
        ] {
            let splice = Splice::between(made, wanted).unwrap();
            assert_eq!(splice.with(), with);
            assert_eq!(spliced(made.to_vec(), Some(&splice)).unwrap(), wanted);
        }
        assert_eq!(Splice::between(b"same", b"same"), None);
    }

    #[test]
    fn what_does_not_fit_is_not_applied() {
        let splice = Splice { at: Some(2), len: Some(u64::MAX), with: None };
        assert_eq!(spliced(b"abcdef".to_vec(), Some(&splice)), None);
    }
}
