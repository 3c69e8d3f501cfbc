//! A recording that is merged with others.

use super::pre_scan::MemberScan;
use crate::abi::Endian;
use crate::abi::feature::FeatureId;
use crate::abi::sample_type::SampleType;
use crate::container::read::input::Input;
use crate::container::read::{Container, ReadOptions};
use crate::container::spool::Spool;
use crate::container::walk::Damage;
use crate::error::{Error, Result};
use crate::rewrite::endian::EndianPass;
use crate::stream::meta::Meta;
use crate::stream::source::Source;
use crate::stream::write::file::ToFile;
use crate::stream::write::form::{Form, Frames};
use std::io::BufWriter;

/// A recording that is merged with others, and what the first look at it found.
#[derive(Debug)]
pub struct Member {
    /// How the user calls it.
    pub name: String,
    /// What it is opened by, as often as need be.
    pub input: Input,
    /// What is known of it at its end.
    pub meta: Meta,
    /// What the look found.
    pub look: MemberScan,
    /// Damage that is not met again when it is read again.
    pub damage: Vec<Damage>,
}

impl Member {
    /// Opens a recording, and looks at it.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn open(input: Input, read: &ReadOptions) -> Result<Self> {
        let name = input.name();
        let (input, damage) = input.repeatable(read)?;
        let mut look = MemberScan::default();
        let (meta, _) = Source::open(input.clone(), read.clone())?.run(&mut look)?;
        Ok(Self { name, input, meta, look, damage: Vec::from_iter(damage) })
    }

    /// The recording in another byte order, kept in a temporary file.
    ///
    /// # Errors
    /// Where some of it is bound to its byte order, and what the system says.
    pub fn in_order(self, endian: Endian, first: &str, read: &ReadOptions) -> Result<Self> {
        if self.meta.endian == endian {
            return Ok(self);
        }
        let open = || Source::open(self.input.clone(), read.clone());
        let mut bound = EndianPass::new(endian, true);
        open()?.run(&mut bound)?;
        if let Some(bound) = bound.staying() {
            let called = |endian| if endian == Endian::Big { "big-endian" } else { "little-endian" };
            let (its, others) = (called(self.meta.endian), called(endian));
            return Err(Error::incompatible(format!(
                "{}: is {its}, and {first} {others}: only its recorder knows the byte order of what is in these: {bound}",
                self.name
            )));
        }
        let kept = |e| Error::io(&self.name, "cannot keep in a temporary file")(e);
        let spool = BufWriter::new(Spool::new(read.spool_dir.as_deref()).map_err(kept)?);
        let form = Form { frames: Frames::Plain, endian: Some(endian), features_known: None };
        let mut file = ToFile::new(spool, form);
        let (_, ledger) = open()?.run(&mut file)?;
        let Some(spool) = file.into_inner() else { return Ok(self) };
        let spool = spool.into_inner().map_err(|e| kept(e.into_error()))?;
        let bytes = spool.into_bytes().map_err(kept)?;
        let mut member = Self::open(Input::Bytes { name: self.name.clone(), bytes }, read)?;
        member.damage = ledger.messages().to_vec();
        member.damage.extend(self.damage);
        Ok(member)
    }

    /// A feature that is a string.
    pub fn string(&self, id: FeatureId) -> Option<String> {
        self.meta.string(id)
    }

    /// Whether it comes in the container of a pipe, where records tell what a file tells in its header.
    pub fn is_pipe(&self) -> bool {
        self.meta.container == Container::Pipe
    }

    /// Whether any event's samples have one of these fields.
    pub fn has_field(&self, fields: SampleType) -> bool {
        self.meta.events.list().iter().any(|event| event.attr.sample_type.intersects(fields))
    }
}
