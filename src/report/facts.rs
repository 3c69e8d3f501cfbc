//! What a report says about the recording itself.

use crate::profile::Profile;
use crate::profile::unsymbolized::Unsymbolized;

/// Names and values that describe the recording, as far as they are known.
pub(crate) fn facts(profile: &Profile) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> = profile.tables.facts.clone();
    if let Some((first, last)) = profile.times {
        facts.push(("time", format!("{:.6} s between the first and last sample", (last - first) as f64 / 1e9)));
    }
    facts
}

/// What is missing from the profile: problems of the recording, and samples without function names.
pub(crate) fn warnings(profile: &Profile) -> Vec<String> {
    let mut unnamed = Unsymbolized::default();
    unnamed.add(profile);
    let unnamed = (unnamed.unnamed > 0).then(|| unnamed.to_string());
    profile.warnings.iter().cloned().chain(unnamed).collect()
}
