//! Traces in Chrome's JSON, in speedscope.

use super::programs;
use crate::common::chrome::convert;
use crate::common::files::{self};
use crate::common::totals::{self};

#[test]
fn speedscope_lists_the_threads_of_traces() {
    const ONE_OF: usize = 64;
    let Some(clients) = programs::directory().filter(|_| programs::has_browser()) else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let enough = files::enough("chrome in speedscope", ONE_OF, 500, 20);
    totals::compare(
        "threads that speedscope lists of chrome traces",
        &files::share(ONE_OF),
        enough,
        |recording, expected| {
            let output = directory.path().join(format!("{}.trace.json", recording.name.replace(['.', '/'], "-")));
            convert(&recording.path, &output)?;
            let threads: std::collections::BTreeSet<_> = expected.keys().map(|(thread, _)| thread).collect();
            let page = programs::speedscope(clients, &output);
            if page.title.strip_suffix(" - speedscope").is_none_or(str::is_empty) {
                return Err(format!("not loaded: the title of the page is {:?}", page.title));
            }
            // A single profile is not listed.
            if threads.len() > 1 && page.profiles.len() != threads.len() {
                return Err(format!("{} threads of {}: {:?}", page.profiles.len(), threads.len(), page.profiles));
            }
            Ok(())
        },
    );
}
