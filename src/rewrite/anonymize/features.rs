//! Anonymizes features: metadata of the machine, of perf and of its events.

use super::category::Category;
use super::replace::Replacer;
use crate::rewrite::header::Header;
use perf_data::abi::feature::descriptor::Subject;
use perf_data::abi::feature::{Feature, FeatureContext, FeatureId, FeatureSection};
use perf_data::abi::header::EventType;
use perf_data::abi::text::FixedStr;
use perf_data::container::read::file::FileAttr;
use perf_data::container::write::encoded;
use perf_data::error::Result;
use perf_data::stream::meta::Meta;

/// Alignment of file names in perf's build ID table.
const TABLE_ALIGN: usize = 64;

impl Replacer {
    /// Anonymizes the header and sections of a file. In a pipe, each record is anonymized on its own.
    ///
    /// # Errors
    /// Fails if a replacement exceeds its maximum size.
    pub(crate) fn header(&mut self, header: &mut Header) -> Result<()> {
        let nr_cpus = header.features.get(&FeatureId::NRCPUS).cloned();
        let context = FeatureContext::new(nr_cpus.as_deref(), header.endian);
        for id in header.features.keys().copied().collect::<Vec<_>>() {
            let section = FeatureSection::read(id, &header.features[&id], header.endian, &context);
            match self.section(section) {
                Some(section) => {
                    header.features.insert(id, encoded(section.to_bytes(header.endian))?.into());
                }
                None => {
                    header.features.remove(&id);
                }
            }
        }
        for FileAttr { attr, ids } in header.events.iter_mut().flatten() {
            *attr = self.attr(attr);
            self.ids(ids);
        }
        header.keeps_build_id_table = false;
        for (misc, build_id) in &mut header.build_ids {
            *build_id = self.build_id_entry(*misc, build_id, TABLE_ALIGN);
        }
        for EventType { name, .. } in &mut header.event_types {
            *name = FixedStr::new(&self.tracepoint_name(name.text()));
        }
        Ok(())
    }

    /// Anonymizes a feature of a record; `None` if it is removed.
    ///
    /// # Errors
    /// None in practice: writing to memory does not fail.
    pub(crate) fn feature(&mut self, id: FeatureId, bytes: &[u8], meta: &Meta) -> Result<Option<Vec<u8>>> {
        let context = meta.feature_context();
        let section = self.section(FeatureSection::read(id, bytes, meta.endian, &context));
        section.map(|section| encoded(section.to_bytes(meta.endian))).transpose()
    }

    /// Anonymizes the parts of a feature; `None` if it is removed. Bytes after the known fields are removed too.
    fn section(&mut self, mut section: FeatureSection) -> Option<FeatureSection> {
        section.tail.clear();
        let id = section.id;
        let subject = id.descriptor().map(|descriptor| descriptor.subject);
        let is_dropped = match subject {
            Some(Subject::Machine) => self.replaces(Category::Machine),
            Some(Subject::WallClock) => self.replaces(Category::Times),
            // Written again from `Header::build_ids`.
            _ => id == FeatureId::BUILD_ID,
        };
        if is_dropped {
            return None;
        }
        let is_known = subject != Some(Subject::Code) && !matches!(section.feature, Feature::Opaque(_));
        if is_known && self.feature_fields(&mut section) {
            return Some(section);
        }
        self.note_removal(format!("the feature {id}"));
        None
    }
}
