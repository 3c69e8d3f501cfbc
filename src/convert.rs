//! The main job in one call: a recording to a profile.

use crate::error::Result;
use crate::profile::Profile;
use crate::profile::collector::Collector;
use crate::stream::ledger::Ledger;
use crate::stream::order::Order;
use crate::stream::source::Source;

/// Reads a recording, in time order, into a profile. What waits for its turn and is too much for memory goes to temporary
/// files.
///
/// # Errors
/// Where there is not a single record that can be read. What is wrong in parts is told by the ledger.
pub fn profile(source: Source) -> Result<(Profile, Ledger)> {
    let mut ordered = Order::new(Collector::default(), source.options().clone());
    let (meta, mut ledger) = source.run(&mut ordered)?;
    let (profile, collected) = ordered.into_inner().finish(&meta);
    ledger.account_for_stream();
    ledger.merge(collected);
    Ok((profile, ledger))
}
