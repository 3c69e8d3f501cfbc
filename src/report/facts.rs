//! What a report says about the recording itself.

use crate::profile::Profile;
use crate::profile::symbolize::unsymbolized::Unsymbolized;

/// Names and values that describe the recording, as far as they are known.
pub(crate) fn facts(profile: &Profile) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> = profile.tables.facts.clone();
    if let Some((first, last)) = profile.times {
        facts.push(("time", format!("{:.6} s between the first and last sample", (last - first) as f64 / 1e9)));
    }
    facts
}

/// Number of objects without function names that are listed: the largest ones; all are in the message of `-v`.
const MAX_OBJECTS: usize = 20;

/// What is missing from the profile: problems of the recording, and the objects of frames without function names.
pub(crate) fn warnings(profile: &Profile) -> Vec<String> {
    let mut unnamed = Unsymbolized::default();
    unnamed.add(profile);
    let mut warnings = profile.warnings.clone();
    if unnamed.unnamed.all > 0 {
        warnings.extend(unnamed.lines(Some(MAX_OBJECTS)).iter().map(|line| line.trim_start().to_owned()));
        warnings.extend(unnamed.further_objects(MAX_OBJECTS));
    }
    warnings
}
