//! Scenarios, whatever they ask for.

use perfconv::container::read::Container;
use perfconv::stream::write::file::ToFile;
use perfconv::stream::write::form::Form;
use perfconv::synth::Scenario;
use std::io::Cursor;

/// The most bytes of records that are made: a scenario may ask for more than there is room for.
const MOST: u64 = 1 << 18;

/// Reads a scenario. What it makes is the same each time, and can be read or is told to be damaged.
pub fn scenario(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Ok(scenario) = Scenario::parse("fuzzed.toml", text) else { return };
    let made = || {
        let mut file = ToFile::new(Cursor::new(Vec::new()), Form::default());
        scenario.run_within(1, MOST, &mut file).ok()?;
        let mut bytes = file.into_inner()?.into_inner();
        if let Some(damage) = &scenario.damage {
            damage.on(&mut bytes, Container::File, scenario.about.endian).ok()?;
        }
        Some(bytes)
    };
    let Some(file) = made() else { return };
    assert!(made() == Some(file.clone()), "a scenario makes the same each time");
    super::open(&file);
}
