//! The options of anonymizing.

use super::category::{Kept, What};
use super::key::Key;
use super::pass::AnonymizePass;
use crate::rewrite::option::{Outputs, Parameter, PassOption, Place};
use crate::rewrite::request::{PassFactory, Values};

/// `--anonymize`.
pub const ANONYMIZE: Parameter<()> = Parameter::flag("--anonymize");

const KEEP: Parameter<What> = Parameter::list("--keep", "WHAT", str::parse);
const REPLACE: Parameter<What> = Parameter::list("--replace", "WHAT", str::parse);
const KEY: Parameter<Key> = Parameter::once("--key", "FILE", Key::read);

/// The option that asks for the pass.
pub const OPTIONS: &[PassOption] = &[PassOption::new(
    &ANONYMIZE,
    Outputs::All,
    "Replace what tells of people, programs and machines: names, paths, addresses; leave out raw data, registers, stacks",
    request,
)
.place(Place::Anonymizing)];

/// The options that refine it.
pub const SETTINGS: &[PassOption] = &[
    PassOption::setting(
        &KEEP,
        &["--anonymize"],
        Outputs::All,
        "What of the recording stays beside build-ids, pids, times and machine, separated by commas: paths, comms, host, \
         cmdline, cgroups, events, symbols, addresses, inodes, registers, stacks, phys-addresses, raw",
    ),
    PassOption::setting(
        &REPLACE,
        &["--anonymize"],
        Outputs::All,
        "What does not stay that stays by itself, separated by commas: build-ids, pids, times, machine",
    ),
    PassOption::setting(
        &KEY,
        &["--anonymize"],
        Outputs::All,
        "File with a secret of 16 bytes at least: with the same, equal names are replaced by equal ones in all recordings \
         [default: a random one, which is not kept]",
    ),
];

// A random key is made here, once: several recordings that are converted at once have the same.
fn request(values: &Values) -> Result<PassFactory, String> {
    let (keep, replace) = (values.of(&KEEP), values.of(&REPLACE));
    if let Some(both) = keep.iter().find(|what| replace.contains(what)) {
        return Err(format!("{both} cannot both stay (--keep) and be replaced (--replace)"));
    }
    let kept = Kept::new(&keep, &replace);
    let key = values.get(&KEY).map_or_else(Key::random, Ok)?;
    Ok(PassFactory::new(move |_| AnonymizePass::new(key.clone(), kept)))
}
