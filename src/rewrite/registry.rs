//! The table of all passes that options can request.

use super::filter::{comm, cpu, dso, event, head, kind, sample_every, task, time};
use super::header::edits;
use super::option::{PassOption, PassOrder};
use super::request::{PassRequest, Values};
use super::unwind;
use super::{anonymize, build_ids, jit, perf_version, quipper, sched_stat, sort, strip_user_stack};
use std::iter;

/// Tables of the options that request passes and refine them, each with the heading under which help shows it.
pub type PassTable<'a> = &'a [(&'static str, &'a [PassOption])];

/// Heading of the options that select records.
pub const FILTERS: &str = "Filters";
/// Heading of the options that change records and features.
pub const REWRITING: &str = "Rewriting";
/// Heading of the options for code compiled at run time.
pub const JIT: &str = "JIT code";
/// Heading of the options for build IDs.
pub const BUILD_IDS: &str = "Build IDs";
/// Heading of the options that anonymize.
pub const ANONYMIZING: &str = "Anonymizing";

/// All passes, in the order in which they are listed to users. A pass is registered here and nowhere else.
pub const PASSES: PassTable<'static> = &[
    (FILTERS, event::OPTIONS),
    (FILTERS, comm::OPTIONS),
    (FILTERS, time::OPTIONS),
    (FILTERS, task::OPTIONS),
    (FILTERS, cpu::OPTIONS),
    (FILTERS, dso::OPTIONS),
    (FILTERS, kind::OPTIONS),
    (FILTERS, sample_every::OPTIONS),
    (FILTERS, head::OPTIONS),
    (REWRITING, sort::OPTIONS),
    (REWRITING, edits::OPTIONS),
    (REWRITING, perf_version::OPTIONS),
    (REWRITING, strip_user_stack::OPTIONS),
    (REWRITING, unwind::OPTIONS),
    (REWRITING, &[sched_stat::OPTION]),
    (REWRITING, quipper::OPTIONS),
    (JIT, &[jit::pass::OPTION]),
    (JIT, jit::perf_map::OPTIONS),
    (JIT, jit::options::SETTINGS),
    (BUILD_IDS, &[build_ids::table::HIT, build_ids::table::ALL]),
    (BUILD_IDS, &[build_ids::maps::HIT, build_ids::maps::ALL]),
    (BUILD_IDS, build_ids::options::SETTINGS),
    (ANONYMIZING, anonymize::options::OPTIONS),
    (ANONYMIZING, anonymize::options::SETTINGS),
];

/// All options of a table.
pub fn options<'a>(table: PassTable<'a>) -> impl Iterator<Item = &'a PassOption> {
    table.iter().flat_map(|(_, options)| *options)
}

/// Returns the requested passes in the order of their options; passes that could disclose something run before the anonymizing
/// one.
///
/// # Errors
/// Fails if an option configures a pass that no option requests, or if options are incompatible.
pub fn requests(table: PassTable<'_>, given: &Values) -> Result<Vec<PassRequest>, String> {
    let mut settings = Vec::new();
    for option in options(table) {
        if option.is_pass() || !given.has_name(option.name()) {
            continue;
        }
        if !option.refined().iter().any(|pass| given.has_name(pass)) {
            return Err(format!("{} requires {}", option.name(), option.refined().join(" or ")));
        }
        settings.push(option);
    }
    let mut requests = Vec::new();
    for (option, own) in values_by_pass(table, given) {
        let refines = |setting: &&PassOption| setting.refined().contains(&option.name());
        let settings: Vec<_> = settings.iter().copied().filter(refines).collect();
        requests.extend(option.request(own, &settings, given).transpose()?);
    }
    if requests.iter().any(|request| request.place == PassOrder::Anonymizing) {
        let of_images = || iter::once(&jit::pass::OPTION).chain(jit::perf_map::OPTIONS);
        let writes_images = |request: &&PassRequest| of_images().any(|option| option.name() == request.option());
        if let Some(request) = requests.iter().find(writes_images) {
            let option = request.option();
            return Err(format!(
                "{option} cannot be used with --anonymize, since the images that it writes contain function names"
            ));
        }
        requests.sort_by_key(|request| request.place);
    }
    Ok(requests)
}

/// The options that request passes, each with the values of one pass.
fn values_by_pass<'a>(table: PassTable<'a>, given: &Values) -> Vec<(&'a PassOption, Values)> {
    let mut passes: Vec<(&PassOption, Values)> = Vec::new();
    for (name, value) in &given.list {
        let Some(option) = options(table).filter(|option| option.is_pass()).find(|option| option.name() == *name)
        else {
            continue;
        };
        let of_same = |(other, _): &&mut (&PassOption, Values)| other.name() == *name && !option.has_pass_per_value();
        match passes.iter_mut().find(of_same) {
            Some((_, values)) => values.push(name, value.clone()),
            None => passes.push((option, Values { list: vec![(name, value.clone())] })),
        }
    }
    passes
}
