//! Names of the functions in a recording, for completions.

use super::input;
use super::shell_word::is_value;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::error::Result;
use perfconv::conversion::decoded_profiles;
use perfconv::conversion::input::RecognizedInput;
use perfconv::formats::import::ImportOptions;
use perfconv::profile::options::ProfileOptions;
use perfconv::profile::symbolize::{SymbolOptions, SymbolSources};
use perfconv::report::location::Locations;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// How long functions are looked up: users wait for completions, and the program ends when there are none.
const TIME: Duration = Duration::from_millis(1000);

/// Maximum number of names that are offered: bash asks before it lists more than 100
/// (`completion-query-items`), and large programs have far more than these.
const MAX_NAMES: usize = 5000;

/// The functions with samples in the recording on the command line; none if it takes too long to find them.
pub(super) fn functions_at_hand() -> BTreeSet<String> {
    let (sender, receiver) = channel();
    let search = move || _ = sender.send(functions().unwrap_or_default());
    match thread::Builder::new().spawn(search) {
        Ok(_) => receiver.recv_timeout(TIME).unwrap_or_default(),
        Err(_) => BTreeSet::new(),
    }
}

fn functions() -> Result<BTreeSet<String>> {
    let read = ReadOptions::default();
    let opened = RecognizedInput::new(Input::Path(input::recording()), &read)?;
    let opened = opened.import(&ImportOptions::from(&read))?;
    let objects = input::symfs().into_iter().fold(SymbolOptions::default(), SymbolOptions::symfs);
    let symbols = SymbolSources {
        imported: opened.imported().cloned(),
        objects: Some(Arc::new(objects.without_lines().without_unwinding())),
    };
    let options = ProfileOptions { labels: Some(Vec::new()), symbols, ..ProfileOptions::default() };
    let (profiles, _) = decoded_profiles(opened.input(), &read, &options)?;
    let mut names = BTreeSet::new();
    for profile in &profiles {
        let locations = Locations::new(&profile.tables);
        let named = locations.list().iter().filter(|location| location.is_named);
        let texts = named.map(|location| locations.text(location.function).into_owned());
        names.extend(texts.filter(|name| is_value(name)).take(MAX_NAMES));
    }
    Ok(names)
}
