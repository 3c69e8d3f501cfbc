//! Strings of feature sections: HOSTNAME, OSRELEASE, VERSION, ARCH, CPUDESC and CPUID are one string, CMDLINE is a list.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use crate::abi::counted;
use crate::abi::serde::readable::Text;
use crate::abi::text::until_nul;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `u32 len; char text[len]`: a string, a NUL and zeros. perf rounds `len` up to a multiple of 64.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfStr {
    #[br(temp)]
    #[bw(calc = bytes.len() as u32)]
    len: u32,
    /// All `len` bytes.
    #[br(parse_with = counted::bytes, args(len.into()))]
    pub bytes: Vec<u8>,
}

impl PerfStr {
    /// Alignment of lengths in perf.
    const NAME_ALIGN: usize = 64;

    /// A string padded as by perf.
    pub fn new(text: &[u8]) -> Self {
        let mut bytes = text.to_vec();
        bytes.resize(Self::default_size(text.len()), 0);
        Self { bytes }
    }

    fn default_size(len: usize) -> usize {
        (len + 1).next_multiple_of(Self::NAME_ALIGN)
    }

    /// The string, without NUL and padding.
    pub fn text(&self) -> &[u8] {
        until_nul(&self.bytes)
    }

    /// The string, with invalid UTF-8 replaced.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(self.text()).into_owned()
    }
}

impl Serialize for PerfStr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Text::from_stored(&self.bytes, Self::default_size).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PerfStr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Text::deserialize(deserializer)?.into_bytes(Self::default_size);
        Ok(Self { bytes })
    }
}

/// `u32 nr; string[nr]`: the arguments of perf in CMDLINE, with its path first, and lists in CPU_TOPOLOGY.
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrList {
    #[br(temp)]
    #[bw(calc = strings.len() as u32)]
    nr: u32,
    /// The strings.
    #[br(parse_with = counted::items, args(nr.into()))]
    pub strings: Vec<PerfStr>,
}

/// The command line in CMDLINE as hiperf, the profiler of OpenHarmony, writes it: one string, with spaces between the arguments.
/// `None` if the section has another layout.
pub fn hiperf_command(section: &[u8]) -> Option<String> {
    let (size, text) = section.split_first_chunk()?;
    let text = text.strip_suffix(b"\0")?;
    let is_whole = u32::from_le_bytes(*size) as usize == text.len() + 1 && !text.contains(&0);
    is_whole.then(|| String::from_utf8_lossy(text).into_owned())
}

/// Descriptor of HOSTNAME.
pub const HOSTNAME: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::HOSTNAME, (3, 2));

/// Descriptor of OSRELEASE.
pub const OSRELEASE: FeatureDescriptor = FeatureDescriptor::machine(FeatureId::OSRELEASE, (3, 2));

/// Descriptor of VERSION.
pub const VERSION: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::VERSION, (3, 2));

/// Descriptor of ARCH.
pub const ARCH: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::ARCH, (3, 2));

/// Descriptor of CPUDESC.
pub const CPUDESC: FeatureDescriptor = FeatureDescriptor::machine(FeatureId::CPUDESC, (3, 2));

/// Descriptor of CPUID.
pub const CPUID: FeatureDescriptor = FeatureDescriptor::machine(FeatureId::CPUID, (3, 2));

/// Descriptor of CMDLINE.
pub const CMDLINE: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::CMDLINE, (3, 2));

roles! { StrList { strings: command_line } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;
    use crate::abi::{self, Endian};

    #[test]
    fn bytes() {
        both_orders(&PerfStr::new(b"arm"), (), "40000000 'arm' 00 *61", "00000040 'arm' 00 *61");
        let strings = vec![PerfStr::new(b"perf"), PerfStr { bytes: b"-a".to_vec() }];
        both_orders(
            &StrList { strings },
            (),
            "02000000 40000000 'perf' 00 *60 02000000 '-a'",
            "00000002 00000040 'perf' 00 *60 00000002 '-a'",
        );
    }

    #[test]
    fn any_length_and_a_missing_nul_are_decoded() {
        let (text, used): (PerfStr, usize) = abi::parse(b"\0\0\0\x05perf\0rest", Endian::Big, ()).unwrap();
        assert_eq!((text.text(), used), (&b"perf"[..], 9));
        let (text, _): (PerfStr, usize) = abi::parse(b"\x03\0\0\0abc", Endian::Little, ()).unwrap();
        assert_eq!(text.to_text(), "abc");
    }

    #[test]
    fn hostile_counts_allocate_nothing() {
        assert!(abi::parse::<PerfStr>(b"\xff\xff\xff\xffabc", Endian::Little, ()).is_err());
        assert!(abi::parse::<StrList>(b"\xff\xff\xff\xff\x01\0\0\0a", Endian::Little, ()).is_err());
    }
}
