//! A decoded feature section.

use super::nr_cpus::NrCpus;
use super::{Feature, FeatureId};
use crate::abi::{self, Endian};
use binrw::{BinResult, BinWrite};
use std::io::Cursor;

/// Content of other features needed for decoding.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeatureContext {
    /// Content of NRCPUS, for CPU_TOPOLOGY and CPU_DOMAIN_INFO.
    pub nr_cpus: Option<NrCpus>,
}

impl FeatureContext {
    /// The context from the bytes of NRCPUS.
    pub fn new(nr_cpus: Option<&[u8]>, endian: Endian) -> Self {
        Self { nr_cpus: nr_cpus.and_then(|bytes| abi::parse(bytes, endian, ()).ok()).map(|(nr_cpus, _)| nr_cpus) }
    }
}

/// A decoded feature section, without loss: bytes beyond the definition are in `tail`, and what no definition covers is
/// [`Feature::Opaque`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureSection {
    /// Feature ID.
    pub id: FeatureId,
    /// Its content.
    pub feature: Feature,
    /// Bytes beyond the definition.
    pub tail: Vec<u8>,
}

impl FeatureSection {
    /// Decodes a section from exactly its bytes.
    pub fn read(id: FeatureId, bytes: &[u8], endian: Endian, context: &FeatureContext) -> Self {
        let (feature, tail) = Feature::read(id, bytes, endian, context);
        Self { id, feature, tail: tail.to_vec() }
    }

    /// Encodes the section. An unchanged one gives the original bytes.
    ///
    /// # Errors
    /// If the name of a build ID is too long for its entry.
    pub fn to_bytes(&self, endian: Endian) -> BinResult<Vec<u8>> {
        let mut out = Cursor::new(Vec::new());
        self.feature.write(&mut out, endian)?;
        self.tail.write_options(&mut out, endian, ())?;
        Ok(out.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::hex;
    use proptest::prelude::*;

    #[test]
    fn bytes_beyond_the_definition_are_the_tail() {
        let bytes = hex("40000000 01020304");
        let section = FeatureSection::read(FeatureId::CLN_SIZE, &bytes, Endian::Little, &FeatureContext::default());
        assert!(matches!(section.feature, Feature::ClnSize(size) if size.cln_size == 64));
        assert_eq!(section.tail, [1, 2, 3, 4]);
        assert_eq!(section.to_bytes(Endian::Little).unwrap(), bytes);
        let section = FeatureSection::read(FeatureId(200), &bytes, Endian::Little, &FeatureContext::default());
        assert_eq!(section.feature, Feature::Opaque(bytes));
    }

    #[test]
    fn hostile_counts_make_a_feature_opaque() {
        let context = FeatureContext { nr_cpus: Some(NrCpus { nr_cpus_avail: u32::MAX, nr_cpus_online: u32::MAX }) };
        let counted = [1, 3, 4, 5, 6, 8, 9, 11, 12, 13, 14, 16, 17, 18, 20, 22, 25, 26, 28, 30, 31, 32].map(FeatureId);
        for id in (1..40).map(FeatureId) {
            let section = FeatureSection::read(id, &[0xff; 90], Endian::Little, &context);
            let is_known = id.name().is_some();
            assert_eq!(matches!(section.feature, Feature::Opaque(_)), !is_known || counted.contains(&id), "{id}");
            assert_eq!(section.to_bytes(Endian::Little).unwrap(), [0xff; 90], "{id}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn arbitrary_bytes_are_reproduced(
            id in 0..40_u32,
            bytes in proptest::collection::vec(
                prop_oneof![8 => Just(0_u8), 3 => 0..=4_u8, 1 => Just(0xff), 1 => any::<u8>()],
                0..400,
            ),
            big: bool,
            cpus in 0..4_u32,
        ) {
            let endian = if big { Endian::Big } else { Endian::Little };
            let context = FeatureContext { nr_cpus: Some(NrCpus { nr_cpus_avail: cpus, nr_cpus_online: cpus }) };
            let section = FeatureSection::read(FeatureId(id), &bytes, endian, &context);
            prop_assert_eq!(section.to_bytes(endian).unwrap(), bytes);
        }
    }
}
