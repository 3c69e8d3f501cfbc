//! The options of the anonymizing pass.

use super::category::{Category, KeptCategories};
use super::key::Key;
use super::pass::AnonymizePass;
use crate::rewrite::option::{Outputs, Parameter, PassOption, PassOrder};
use crate::rewrite::request::{PassFactory, Values};

/// `--anonymize`.
pub const ANONYMIZE: Parameter<()> = Parameter::flag("--anonymize");

const KEEP: Parameter<Category> = Parameter::list("--keep", "WHAT", str::parse);
const REPLACE: Parameter<Category> = Parameter::list("--replace", "WHAT", str::parse);
const KEY: Parameter<Key> = Parameter::once("--key", "FILE", Key::read);

/// The option that requests the pass.
pub const OPTIONS: &[PassOption] = &[PassOption::new(
    &ANONYMIZE,
    Outputs::All,
    "Replace what identifies people, programs and machines (names, paths, addresses); remove raw data, registers and stacks",
    request,
)
.place(PassOrder::Anonymizing)];

/// The options that configure it.
pub const SETTINGS: &[PassOption] = &[
    PassOption::setting(
        &KEEP,
        &["--anonymize"],
        Outputs::All,
        "Keep these besides build-ids, pids, times and machine, separated by commas: paths, comms, host, \
         cmdline, cgroups, events, symbols, addresses, inodes, registers, stacks, phys-addresses, raw",
    ),
    PassOption::setting(
        &REPLACE,
        &["--anonymize"],
        Outputs::All,
        "Replace or remove these, which are kept by default, separated by commas: build-ids, pids, times, machine",
    ),
    PassOption::setting(
        &KEY,
        &["--anonymize"],
        Outputs::All,
        "File with a secret key of at least 16 bytes; with the same key, the same name gets the same replacement in all \
         recordings [default: a random key, which is not stored]",
    ),
];

// A random key is generated once here: all inputs of one command share it.
fn request(values: &Values) -> Result<PassFactory, String> {
    let (keep, replace) = (values.of(&KEEP), values.of(&REPLACE));
    if let Some(both) = keep.iter().find(|what| replace.contains(what)) {
        return Err(format!("{both} is given to both --keep and --replace"));
    }
    let kept = KeptCategories::new(&keep, &replace);
    let key = values.get(&KEY).map_or_else(Key::random, Ok)?;
    Ok(PassFactory::new(move |_| AnonymizePass::new(key.clone(), kept)))
}
