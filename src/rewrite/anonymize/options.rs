//! The options of the anonymizing pass.

use super::category::{Category, KeptCategories};
use super::key::Key;
use super::pass::AnonymizePass;
use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions, PassOrder};
#[cfg(feature = "cli")]
use crate::rewrite::framework::pass_type::PassType;
#[cfg(feature = "cli")]
use clap::FromArgMatches;
#[cfg(feature = "cli")]
use clap::error::ErrorKind;
#[cfg(feature = "cli")]
use std::sync::Arc;

/// Replaces what identifies people, programs and machines.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Anonymize {
    /// What is kept besides what is kept by default: [`Category::BuildIds`], [`Category::Pids`], [`Category::Times`],
    /// [`Category::Machine`].
    pub keep: Vec<Category>,
    /// What is replaced or removed although it is kept by default.
    pub replace: Vec<Category>,
    /// The key of the replacements: with the same key, the same name gets the same replacement in all recordings.
    pub key: Key,
}

impl Anonymize {
    /// Replaces what is replaced by default.
    pub fn new(key: Key) -> Self {
        Self { keep: Vec::new(), replace: Vec::new(), key }
    }
}

/// The options as arguments of a command line.
#[cfg(feature = "cli")]
#[derive(clap::Args)]
pub(super) struct AnonymizeArgs {
    /// Keep these besides build-ids, pids, times and machine, separated by commas: paths, comms, host, cmdline, cgroups, events,
    /// symbols, addresses, inodes, registers, stacks, phys-addresses, raw.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    keep: Vec<Category>,

    /// Replace or remove these, which are kept by default, separated by commas: build-ids, pids, times, machine.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    replace: Vec<Category>,

    /// File with a secret key of at least 16 bytes; with the same key, the same name gets the same replacement in all recordings
    /// [default: a random key, which is not stored].
    #[arg(long, value_name = "FILE", value_parser = Key::read)]
    key: Option<Key>,
}

/// `--anonymize`.
#[cfg(feature = "cli")]
pub const ANONYMIZE: PassType = PassType::flag::<AnonymizeArgs>(
    "anonymize",
    "Replace what identifies people, programs and machines (names, paths, addresses); remove raw data, registers and stacks",
    |matches| {
        let AnonymizeArgs { keep, replace, key } = AnonymizeArgs::from_arg_matches(matches)?;
        let conflict = |message| clap::Error::raw(ErrorKind::ArgumentConflict, message);
        if let Some(both) = keep.iter().find(|category| replace.contains(category)) {
            return Err(conflict(format!("{both} is given to both --keep and --replace")));
        }
        // A random key is generated once: all inputs of one command share it.
        let key = key.map_or_else(Key::random, Ok).map_err(conflict)?;
        Ok(vec![Arc::new(Anonymize { keep, replace, key })])
    },
);

impl PassOptions for Anonymize {
    fn pass(&self, _: &PassContext) -> Box<dyn Pass> {
        Box::new(AnonymizePass::new(self.key.clone(), KeptCategories::new(&self.keep, &self.replace)))
    }

    fn order(&self) -> PassOrder {
        PassOrder::Anonymizing
    }
}
