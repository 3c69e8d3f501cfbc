//! What a recording tells of itself, set, added and left out: `--set`, `--add-feature`, `--drop-feature`.

use super::Header;
use crate::abi::feature::FeatureId;
use crate::abi::feature::cln_size::ClnSize;
use crate::abi::feature::nr_cpus::NrCpus;
use crate::abi::feature::string::{PerfStr, StrList};
use crate::abi::feature::total_mem::TotalMem;
use crate::error::{Error, Result};
use crate::rewrite::option::{Outputs, Parameter, PassOption, Place};
use crate::rewrite::pass::Pass;
use crate::rewrite::request::{PassFactory, Values};

/// The features of which records could not be read without them.
const NEEDED: [FeatureId; 3] = [FeatureId::AUXTRACE, FeatureId::COMPRESSED, FeatureId::DIR_FORMAT];

/// A feature and its value.
type Valued = (FeatureId, Value);

const SET: Parameter<Valued> = Parameter::repeated("--set", "FEATURE=VALUE", valued);
const ADD: Parameter<Valued> = Parameter::repeated("--add-feature", "FEATURE=VALUE", valued);
const DROP: Parameter<FeatureId> = Parameter::repeated("--drop-feature", "FEATURE", feature);

/// The options of this pass.
pub const OPTIONS: &[PassOption] = &[
    PassOption::new(
        &SET,
        Outputs::Records,
        "Give a feature that is there another value, such as hostname=build-7; may be given more than once",
        |values| edit(values, &SET, |(id, value)| HeaderEdit::Set(id, value)),
    )
    .one_each()
    .place(Place::AfterAnonymizing),
    PassOption::new(&ADD, Outputs::Records, "Add a feature that is not there", |values| {
        edit(values, &ADD, |(id, value)| HeaderEdit::Add(id, value))
    })
    .one_each()
    .place(Place::AfterAnonymizing),
    PassOption::new(&DROP, Outputs::Records, "Leave out a feature", |values| edit(values, &DROP, HeaderEdit::Drop))
        .one_each(),
];

fn edit<T: Clone + 'static>(
    values: &Values,
    parameter: &Parameter<T>,
    edit: impl FnOnce(T) -> HeaderEdit,
) -> std::result::Result<PassFactory, String> {
    let edit = edit(values.one(parameter)?);
    Ok(PassFactory::new(move |_| edit.clone()))
}

/// A feature by its name, as perf has it, in letters of any case, with or without what all begin with.
fn feature(text: &str) -> std::result::Result<FeatureId, String> {
    let name = text.to_uppercase().replace('-', "_");
    let name = name.strip_prefix("HEADER_").unwrap_or(&name);
    let named = FeatureId::NAMED.iter().find(|(_, named)| *named == name).map(|(id, _)| *id);
    named.ok_or_else(|| {
        let names: Vec<_> = FeatureId::NAMED.iter().map(|(_, name)| name.to_lowercase()).collect();
        format!("there is no such feature; there is {}", names.join(", "))
    })
}

fn valued(text: &str) -> std::result::Result<Valued, String> {
    let (name, value) = text.split_once('=').ok_or("is not FEATURE=VALUE")?;
    let id = feature(name)?;
    Value::parse(id, value).map(|value| (id, value))
}

/// A change of a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderEdit {
    /// A feature that is there gets another value.
    Set(FeatureId, Value),
    /// A feature that is not there is added.
    Add(FeatureId, Value),
    /// A feature that is there goes.
    Drop(FeatureId),
}

/// A value of a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Of HOSTNAME, OSRELEASE, VERSION, ARCH, CPUDESC, CPUID.
    Text(String),
    /// Of CMDLINE: its words.
    Words(Vec<String>),
    /// Of NRCPUS.
    Cpus(NrCpus),
    /// Of TOTAL_MEM: kB.
    Memory(u64),
    /// Of CLN_SIZE: bytes.
    LineSize(u32),
}

impl Value {
    /// A value as it is told in text: CMDLINE as words, quoted as in a shell, NRCPUS as `ONLINE` or `ONLINE/AVAILABLE`,
    /// TOTAL_MEM and CLN_SIZE as numbers.
    ///
    /// # Errors
    /// Where the feature has no such value.
    pub fn parse(id: FeatureId, text: &str) -> std::result::Result<Self, String> {
        let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text} is no number"));
        let small = |text: &str| number(text)?.try_into().map_err(|_| format!("{text} is more than {id} can tell"));
        match id {
            FeatureId::HOSTNAME
            | FeatureId::OSRELEASE
            | FeatureId::VERSION
            | FeatureId::ARCH
            | FeatureId::CPUDESC
            | FeatureId::CPUID => Ok(Self::Text(text.to_owned())),
            FeatureId::CMDLINE => {
                let words = shlex::split(text).ok_or("a quote is not closed, or nothing follows a backslash")?;
                Ok(Self::Words(words))
            }
            FeatureId::NRCPUS => {
                let (online, available) = text.split_once('/').unwrap_or((text, text));
                let (nr_cpus_online, nr_cpus_avail) = (small(online)?, small(available)?);
                if nr_cpus_online > nr_cpus_avail {
                    return Err("more CPUs cannot be online than there are".to_owned());
                }
                Ok(Self::Cpus(NrCpus { nr_cpus_avail, nr_cpus_online }))
            }
            FeatureId::TOTAL_MEM => number(text).map(Self::Memory),
            FeatureId::CLN_SIZE => small(text).map(Self::LineSize),
            _ => Err(format!(
                "{id} is no text or number; these are: hostname, osrelease, version, arch, cpudesc, cpuid, cmdline, nrcpus, \
                 total_mem, cln_size"
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
            Self::Set(..) => SET.name(),
            Self::Add(..) => ADD.name(),
            Self::Drop(_) => DROP.name(),
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
        let refused = |what: String| Err(Error::invalid(format!("{name}: {what}")));
        let is_there = |id: &FeatureId| match *id {
            FeatureId::BUILD_ID => !header.build_ids.is_empty(),
            id => header.features.contains_key(&id),
        };
        match self {
            Self::Set(id, _) if !is_there(id) => {
                refused(format!("the recording has no {id} to be set; --add-feature adds one"))
            }
            Self::Add(id, _) if is_there(id) => {
                refused(format!("the recording has a {id} already; --set gives it another value"))
            }
            Self::Set(id, value) | Self::Add(id, value) => value.put(header, *id),
            Self::Drop(id) if NEEDED.contains(id) => {
                refused(format!("without {id} records could not be read any more"))
            }
            Self::Drop(id) if !is_there(id) => refused(format!("the recording has no {id}")),
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
