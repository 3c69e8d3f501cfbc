//! `[damage]`.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use toml::Spanned;

/// Corruptions of the bytes of the recording, in order of application.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DamageTable {
    /// Whether the recorder was interrupted: the data size in the header is 0, and there are no features.
    #[serde(default)]
    pub unfinished: bool,
    /// Index of a record, from 0, whose size is set to 0.
    pub empty_record: Option<Spanned<u64>>,
    /// Header fields to overwrite, by name.
    #[serde(default)]
    pub header: BTreeMap<Spanned<String>, Value>,
    /// Positions of bytes to invert.
    #[serde(default)]
    pub flip: Vec<Spanned<DamagePosition>>,
    /// Position at which to truncate.
    pub cut: Option<Spanned<DamagePosition>>,
}

/// A position in a recording: an offset in bytes, or a percentage such as `"50%"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamagePosition {
    /// Bytes.
    Bytes(u64),
    /// Percentage of the size.
    Percent(u64),
}

impl DamagePosition {
    /// The offset in `len` bytes; `None` if it is beyond the end.
    pub fn offset_in(self, len: u64) -> Option<u64> {
        let at = match self {
            Self::Bytes(at) => at,
            Self::Percent(percent) => (u128::from(len) * u128::from(percent) / 100) as u64,
        };
        (at < len).then_some(at)
    }
}

impl<'de> Deserialize<'de> for DamagePosition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected an offset in bytes, or a percentage such as \"50%\"")]
        enum PathText<'a> {
            Bytes(u64),
            Percent(Cow<'a, str>),
        }
        let invalid = || serde::de::Error::custom("expected an offset in bytes, or a percentage such as \"50%\"");
        match PathText::deserialize(deserializer)? {
            PathText::Bytes(at) => Ok(Self::Bytes(at)),
            PathText::Percent(text) => {
                let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
                percent.filter(|&percent| percent < 100).map(Self::Percent).ok_or_else(invalid)
            }
        }
    }
}
