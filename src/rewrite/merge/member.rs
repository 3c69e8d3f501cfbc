//! A recording to be merged.

use super::pre_scan::MemberScan;
use crate::rewrite::endian::EndianPass;
use perf_data::abi::Endian;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::container::spool::Spool;
use perf_data::container::walk::Damage;
use perf_data::error::{Error, Result};
use perf_data::stream::meta::Meta;
use perf_data::stream::source::Source;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::{CompressedFrames, Form};
use std::io::BufWriter;

/// A recording to be merged, and the results of its pre-scan.
#[derive(Debug)]
pub(crate) struct Member {
    /// Name in messages.
    pub name: String,
    /// Input; can be opened several times.
    pub input: Input,
    /// Metadata at the end of the recording.
    pub meta: Meta,
    /// Results of the pre-scan.
    pub scan: MemberScan,
    /// Damage that is not detected again when the recording is read again.
    pub damage: Vec<Damage>,
}

impl Member {
    /// Opens and pre-scans a recording.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub(crate) fn open(input: Input, read: &ReadOptions) -> Result<Self> {
        let name = input.name();
        let (input, damage) = input.repeatable(read)?;
        let mut scan = MemberScan::default();
        let (meta, _) = Source::open(input.clone(), read.clone())?.run(&mut scan)?;
        Ok(Self { name, input, meta, scan, damage: Vec::from_iter(damage) })
    }

    /// Converts the recording to another byte order, in a temporary file.
    ///
    /// # Errors
    /// Fails if some contents cannot be converted, and on errors of the system.
    pub(crate) fn in_order(self, endian: Endian, first: &str, read: &ReadOptions) -> Result<Self> {
        if self.meta.endian == endian {
            return Ok(self);
        }
        let open = || Source::open(self.input.clone(), read.clone());
        let mut check = EndianPass::new(endian, true);
        open()?.run(&mut check)?;
        if let Some(contents) = check.unconverted() {
            let order_name = |endian| if endian == Endian::Big { "big-endian" } else { "little-endian" };
            let (from, to) = (order_name(self.meta.endian), order_name(endian));
            return Err(Error::incompatible(format!(
                "{}: {from} but {first} is {to}, and the byte order of these contents is unknown: {contents}",
                self.name
            )));
        }
        let failed = |e| Error::io(&self.name, "cannot write to a temporary file")(e);
        let spool = BufWriter::new(Spool::new(read.spool_dir.as_deref()).map_err(failed)?);
        let form = Form { frames: CompressedFrames::Plain, endian: Some(endian), features_known: None };
        let mut file = ToFile::new(spool, form);
        let (_, ledger) = open()?.run(&mut file)?;
        let Some(spool) = file.into_inner() else { return Ok(self) };
        let spool = spool.into_inner().map_err(|e| failed(e.into_error()))?;
        let bytes = spool.into_bytes().map_err(failed)?;
        let mut member = Self::open(Input::Bytes { name: self.name.clone(), bytes }, read)?;
        member.damage = ledger.messages().to_vec();
        member.damage.extend(self.damage);
        Ok(member)
    }

    /// A string feature.
    pub(crate) fn string(&self, id: FeatureId) -> Option<String> {
        self.meta.string(id)
    }

    /// Whether the samples of any event have one of these fields.
    pub(crate) fn has_field(&self, fields: SampleType) -> bool {
        self.meta.events.list().iter().any(|event| event.attr.sample_type.intersects(fields))
    }
}
