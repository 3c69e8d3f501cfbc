//! Sets, adds and removes features: `--set`, `--add-feature`, `--drop-feature`.

use super::Header;
use crate::rewrite::framework::pass::Pass;
#[cfg(feature = "cli")]
use crate::rewrite::framework::pass_options::RequestedPass;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions, PassOrder};
#[cfg(feature = "cli")]
use crate::rewrite::framework::pass_type::PassType;
#[cfg(feature = "cli")]
use crate::suggest::unknown;
#[cfg(feature = "cli")]
use clap::{Args, FromArgMatches};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::cln_size::ClnSize;
use perf_data::abi::feature::descriptor::FeatureFlags;
use perf_data::abi::feature::nr_cpus::NrCpus;
use perf_data::abi::feature::string::{PerfStr, StrList};
use perf_data::abi::feature::total_mem::TotalMem;
use perf_data::error::{Error, Result};
#[cfg(feature = "cli")]
use std::sync::Arc;

/// A feature and its value.
#[cfg(feature = "cli")]
type Valued = (FeatureId, FeatureValue);

/// Edits as arguments of a command line.
#[cfg(feature = "cli")]
#[derive(clap::Args)]
struct Edits {
    /// Change the value of a feature, such as hostname=build-7; may be given more than once.
    #[arg(long, value_name = "FEATURE=VALUE", value_parser = valued)]
    set: Vec<Valued>,

    /// Add a feature that the recording does not have.
    #[arg(long, value_name = "FEATURE=VALUE", value_parser = valued)]
    add_feature: Vec<Valued>,

    /// Remove a feature.
    #[arg(long, value_name = "FEATURE", value_parser = feature)]
    drop_feature: Vec<FeatureId>,
}

/// `--set`.
#[cfg(feature = "cli")]
pub const SET: PassType = PassType::new("set", Edits::augment_args, |matches| {
    let edits = Edits::from_arg_matches(matches)?.set.into_iter();
    Ok(edits.map(|(id, value)| HeaderEdit::Set(id, value).requested()).collect())
})
.pass_per_value()
.for_records(&["set"]);

/// `--add-feature`.
#[cfg(feature = "cli")]
pub const ADD_FEATURE: PassType = PassType::new("add_feature", Edits::augment_args, |matches| {
    let edits = Edits::from_arg_matches(matches)?.add_feature.into_iter();
    Ok(edits.map(|(id, value)| HeaderEdit::Add(id, value).requested()).collect())
})
.pass_per_value()
.for_records(&["add_feature"]);

/// `--drop-feature`.
#[cfg(feature = "cli")]
pub const DROP_FEATURE: PassType = PassType::new("drop_feature", Edits::augment_args, |matches| {
    let edits = Edits::from_arg_matches(matches)?.drop_feature.into_iter();
    Ok(edits.map(|id| HeaderEdit::Drop(id).requested()).collect())
})
.pass_per_value()
.for_records(&["drop_feature"]);

impl PassOptions for HeaderEdit {
    fn pass(&self, _: &PassContext) -> Box<dyn Pass> {
        Box::new(self.clone())
    }

    fn order(&self) -> PassOrder {
        // Values that the user sets are not anonymized.
        match self {
            Self::Set(..) | Self::Add(..) => PassOrder::AfterAnonymizing,
            Self::Drop(_) => PassOrder::BeforeAnonymizing,
        }
    }
}

#[cfg(feature = "cli")]
impl HeaderEdit {
    fn requested(self) -> RequestedPass {
        Arc::new(self)
    }
}

/// Parses a feature name: perf's name in any case, with or without `HEADER_`.
#[cfg(feature = "cli")]
fn feature(text: &str) -> std::result::Result<FeatureId, String> {
    let name = text.to_uppercase().replace('-', "_");
    let name = name.strip_prefix("HEADER_").unwrap_or(&name);
    let named = FeatureId::NAMED.iter().find(|(_, named)| *named == name).map(|(id, _)| *id);
    named.ok_or_else(|| {
        let names: Vec<_> = FeatureId::NAMED.iter().map(|(_, name)| name.to_lowercase()).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        unknown("feature", text, &names)
    })
}

#[cfg(feature = "cli")]
fn valued(text: &str) -> std::result::Result<Valued, String> {
    let (name, value) = text.split_once('=').ok_or("expected FEATURE=VALUE")?;
    let id = feature(name)?;
    FeatureValue::parse(id, value).map(|value| (id, value))
}

/// A change of a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderEdit {
    /// Changes the value of an existing feature.
    Set(FeatureId, FeatureValue),
    /// Adds a missing feature.
    Add(FeatureId, FeatureValue),
    /// Removes an existing feature.
    Drop(FeatureId),
}

/// A value of a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeatureValue {
    /// Value of HOSTNAME, OSRELEASE, VERSION, ARCH, CPUDESC or CPUID.
    Text(String),
    /// Words of CMDLINE.
    Words(Vec<String>),
    /// Value of NRCPUS.
    Cpus(NrCpus),
    /// Value of TOTAL_MEM, in kB.
    Memory(u64),
    /// Value of CLN_SIZE, in bytes.
    LineSize(u32),
}

impl FeatureValue {
    /// Parses the value of a feature: CMDLINE as words quoted as in a shell, NRCPUS as `ONLINE` or `ONLINE/AVAILABLE`, TOTAL_MEM
    /// and CLN_SIZE as numbers.
    ///
    /// # Errors
    /// Fails if the feature cannot have this value.
    pub fn parse(id: FeatureId, text: &str) -> std::result::Result<Self, String> {
        let number = |text: &str| text.parse::<u64>().map_err(|_| format!("'{text}' is not a number"));
        let small = |text: &str| number(text)?.try_into().map_err(|_| format!("{text} is too large for {id}"));
        if text.is_empty() {
            return Err(format!("{id}: expected a value after '='; --drop-feature removes the feature"));
        }
        match id {
            FeatureId::HOSTNAME
            | FeatureId::OSRELEASE
            | FeatureId::VERSION
            | FeatureId::ARCH
            | FeatureId::CPUDESC
            | FeatureId::CPUID => Ok(Self::Text(text.to_owned())),
            FeatureId::CMDLINE => {
                let words = shlex::split(text).ok_or("unclosed quote or trailing backslash")?;
                Ok(Self::Words(words))
            }
            FeatureId::NRCPUS => {
                let (online, available) = text.split_once('/').unwrap_or((text, text));
                let (nr_cpus_online, nr_cpus_avail) = (small(online)?, small(available)?);
                if nr_cpus_online > nr_cpus_avail {
                    return Err("more CPUs online than available".to_owned());
                }
                Ok(Self::Cpus(NrCpus { nr_cpus_avail, nr_cpus_online }))
            }
            FeatureId::TOTAL_MEM => number(text).map(Self::Memory),
            FeatureId::CLN_SIZE => small(text).map(Self::LineSize),
            _ => Err(format!(
                "{id} is not a text or a number; expected one of: hostname, osrelease, version, arch, cpudesc, cpuid, \
                 cmdline, nrcpus, total_mem, cln_size"
            )),
        }
    }

    fn put(&self, header: &mut Header, id: FeatureId) -> Result<()> {
        match self {
            Self::Text(text) => header.set(id, &PerfStr::new(text.as_bytes())),
            Self::Words(words) => {
                let strings = words.iter().map(|word| PerfStr::new(word.as_bytes())).collect();
                header.set(id, &StrList { strings })
            }
            Self::Cpus(cpus) => header.set(id, cpus),
            Self::Memory(total_mem) => header.set(id, &TotalMem { total_mem: *total_mem }),
            Self::LineSize(cln_size) => header.set(id, &ClnSize { cln_size: *cln_size }),
        }
    }
}

impl Pass for HeaderEdit {
    fn name(&self) -> String {
        match self {
            Self::Set(..) => "--set",
            Self::Add(..) => "--add-feature",
            Self::Drop(_) => "--drop-feature",
        }
        .to_owned()
    }

    fn changes_records(&self) -> bool {
        false
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let name = self.name();
        let refused = |problem: String| Error::invalid(format!("{name}: {problem}"));
        let is_present = |id: &FeatureId| match *id {
            FeatureId::BUILD_ID => !header.build_ids.is_empty(),
            id => header.features.contains_key(&id),
        };
        match self {
            Self::Set(id, _) if !is_present(id) => {
                Err(refused(format!("the recording has no {id}")).remedy("add_feature", "to add it"))
            }
            Self::Add(id, _) if is_present(id) => {
                Err(refused(format!("the recording already has {id}")).remedy("set", "to change it"))
            }
            Self::Set(id, value) | Self::Add(id, value) => value.put(header, *id),
            Self::Drop(id) if id.has(FeatureFlags::STORAGE) => {
                Err(refused(format!("{id} is required to decode records")))
            }
            Self::Drop(id) if !is_present(id) => Err(refused(format!("the recording has no {id}"))),
            Self::Drop(FeatureId::BUILD_ID) => {
                header.build_ids.clear();
                Ok(())
            }
            Self::Drop(id) => {
                header.features.remove(id);
                Ok(())
            }
        }
    }
}
