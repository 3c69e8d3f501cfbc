//! `[damage]`.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use toml::Spanned;

/// What becomes of the recording's bytes, in this order.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DamageTable {
    /// The recorder was killed: the header does not tell how much data there is, and there are no features.
    #[serde(default)]
    pub unfinished: bool,
    /// The record of that number, from 0 on, says that its size is 0.
    pub empty_record: Option<Spanned<u64>>,
    /// Fields of the header, by their names, that have other values.
    #[serde(default)]
    pub header: BTreeMap<Spanned<String>, Value>,
    /// Bytes that are turned into their complement.
    #[serde(default)]
    pub flip: Vec<Spanned<Place>>,
    /// Where it ends.
    pub cut: Option<Spanned<Place>>,
}

/// A place in a recording: a number of bytes from its beginning, or percents of it, as `"50%"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Bytes.
    Bytes(u64),
    /// Percents.
    Percent(u64),
}

impl Place {
    /// The place in so many bytes; `None` where it is not in them.
    pub fn of(self, len: u64) -> Option<u64> {
        let at = match self {
            Self::Bytes(at) => at,
            Self::Percent(percent) => (u128::from(len) * u128::from(percent) / 100) as u64,
        };
        (at < len).then_some(at)
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a number of bytes, or percents as \"50%\"")]
        enum Written<'a> {
            Bytes(u64),
            Percent(Cow<'a, str>),
        }
        let wrong = || serde::de::Error::custom("a place is a number of bytes, or percents as \"50%\"");
        match Written::deserialize(deserializer)? {
            Written::Bytes(at) => Ok(Self::Bytes(at)),
            Written::Percent(text) => {
                let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
                percent.filter(|&percent| percent < 100).map(Self::Percent).ok_or_else(wrong)
            }
        }
    }
}
