//! Labels of samples, encoded once for many samples.

use super::encode::to_i64;
use super::messages::field;
use super::proto;
use super::strings::Strings;
use crate::profile::Tables;
use crate::profile::imported::ImportedProfile;
use crate::profile::labels::{LabelKey, LabelValue, LabelsId};
use hashbrown::HashMap;
use perf_data::session::names::{NameId, Names};
use prost::encoding::message;
use std::ops::Range;

/// Encodes labels.
#[derive(Default)]
pub(super) struct EncodedLabels {
    bytes: Vec<u8>,
    /// Ranges of encoded sets of labels in `bytes`, by ID.
    sets: Vec<Option<Range<usize>>>,
    /// String IDs of label values.
    texts: HashMap<NameId, i64>,
}

impl EncodedLabels {
    /// The labels of a set of a profile.
    pub(super) fn encode_set(&mut self, set: LabelsId, tables: &Tables, strings: &mut Strings) -> &[u8] {
        let index = set as usize;
        if self.sets.len() <= index {
            self.sets.resize(index + 1, None);
        }
        let encoded = self.sets[index].clone();
        let range = encoded.unwrap_or_else(|| {
            let start = self.bytes.len();
            let labels = tables.labels.labels(set);
            self.append(labels, &tables.names, tables.imported.as_deref(), strings);
            let range = start..self.bytes.len();
            self.sets[index] = Some(range.clone());
            range
        });
        &self.bytes[range]
    }

    /// Labels that are in no set.
    pub(super) fn encode_labels(&mut self, labels: &[LabelValue], names: &Names, strings: &mut Strings) -> &[u8] {
        self.bytes.clear();
        self.append(labels, names, None, strings);
        &self.bytes
    }

    fn append(
        &mut self,
        labels: &[LabelValue],
        names: &Names,
        imported: Option<&ImportedProfile>,
        strings: &mut Strings,
    ) {
        let Self { bytes, texts, .. } = self;
        for label in labels {
            let (key, unit, num) = match label.key {
                LabelKey::Known(kind) => (kind.key(), kind.unit(), to_i64(label.value)),
                LabelKey::Imported(number) => {
                    let own = imported.and_then(|imported| imported.labels.get(number as usize));
                    own.map_or(("", None, 0), |own| (&*own.key, own.unit.as_deref(), label.value as i64))
                }
                LabelKey::BranchFlags => ("branch_flags", Some(""), to_i64(label.value)),
                LabelKey::Access(_) => continue,
            };
            let key = strings.id(key);
            let label = match unit {
                Some(unit) => proto::Label { key, num, num_unit: strings.id(unit), ..proto::Label::default() },
                None => {
                    let name = NameId(label.value as u32);
                    let text = || strings.id(&String::from_utf8_lossy(names.name(name)));
                    proto::Label { key, str: *texts.entry(name).or_insert_with(text), ..proto::Label::default() }
                }
            };
            message::encode(field::LABEL, &label, bytes);
        }
    }
}
