//! The main job in one call: a recording to another format.

use crate::container::read::ReadOptions;
use crate::container::read::input::Input;
use crate::error::Result;
use crate::profile::Profile;
use crate::profile::collector::Collector;
use crate::stream::ledger::Ledger;
use crate::stream::order::{Budget, Order};
use crate::stream::source::Source;

/// Reads a recording, in time order, into a profile.
///
/// # Errors
/// Where there is no recording, or none that can be read. What is wrong in parts of it is told by the ledger.
pub fn profile(input: Input, options: ReadOptions) -> Result<(Profile, Ledger)> {
    let budget = Budget { spool_dir: options.spool_dir.clone(), ..Budget::default() };
    let mut ordered = Order::new(Collector::default(), budget);
    let (meta, mut ledger) = Source::open(input, options)?.run(&mut ordered)?;
    let (profile, collected) = ordered.into_inner().finish(&meta);
    ledger.merge(collected);
    Ok((profile, ledger))
}
