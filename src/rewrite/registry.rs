//! The table of all passes that can be asked for.

use super::filter::{comm, cpu, dso, event, head, kind, sample_every, task, time};
use super::header::edits;
use super::option::{PassOption, Place};
use super::request::{PassRequest, Values};
use super::{anonymize, build_ids, jit, perf_version, quipper, sched_stat, sort, strip_user_stack};

/// Options that ask for passes and refine them: each group is of options that are declared together.
pub type PassTable<'a> = &'a [&'a [PassOption]];

/// All of them, in the order in which they are listed to users. A pass is registered here and nowhere else.
pub const PASSES: PassTable<'static> = &[
    quipper::OPTIONS,
    sort::OPTIONS,
    edits::OPTIONS,
    perf_version::OPTIONS,
    time::OPTIONS,
    task::OPTIONS,
    comm::OPTIONS,
    cpu::OPTIONS,
    event::OPTIONS,
    dso::OPTIONS,
    kind::OPTIONS,
    sample_every::OPTIONS,
    head::OPTIONS,
    &[sched_stat::OPTION],
    strip_user_stack::OPTIONS,
    &[jit::pass::OPTION],
    jit::perf_map::OPTIONS,
    &[build_ids::table::HIT, build_ids::table::ALL],
    &[build_ids::maps::HIT, build_ids::maps::ALL],
    anonymize::options::OPTIONS,
    build_ids::options::SETTINGS,
    jit::options::SETTINGS,
    anonymize::options::SETTINGS,
];

/// The passes that options ask for, in the order in which these were given; those that could disclose something come before the
/// one that anonymizes.
///
/// # Errors
/// Where an option refines a pass that no other asks for, or options do not go together.
pub fn requests(table: PassTable<'_>, given: &Values) -> Result<Vec<PassRequest>, String> {
    let mut settings = Vec::new();
    for option in table.iter().copied().flatten() {
        if option.is_pass() || !given.has_name(option.name()) {
            continue;
        }
        if !option.refined().iter().any(|pass| given.has_name(pass)) {
            return Err(format!("{} is for {}", option.name(), listed(option.refined())));
        }
        settings.push(option);
    }
    let mut requests = Vec::new();
    for (option, own) in values_by_pass(table, given) {
        let refines = |setting: &&PassOption| setting.refined().contains(&option.name());
        let settings: Vec<_> = settings.iter().copied().filter(refines).collect();
        requests.extend(option.request(own, &settings, given).transpose()?);
    }
    if requests.iter().any(|request| request.place == Place::Anonymizing) {
        requests.sort_by_key(|request| request.place);
    }
    Ok(requests)
}

/// The options that ask for passes, each with the values of one pass.
fn values_by_pass<'a>(table: PassTable<'a>, given: &Values) -> Vec<(&'a PassOption, Values)> {
    let mut passes: Vec<(&PassOption, Values)> = Vec::new();
    for (name, value) in &given.list {
        let options = table.iter().copied().flatten();
        let Some(option) = options.filter(|option| option.is_pass()).find(|option| option.name() == *name) else {
            continue;
        };
        let of_same = |(other, _): &&mut (&PassOption, Values)| other.name() == *name && !option.is_one_each();
        match passes.iter_mut().find(of_same) {
            Some((_, values)) => values.push(name, value.clone()),
            None => passes.push((option, Values { list: vec![(name, value.clone())] })),
        }
    }
    passes
}

/// Names in a sentence.
fn listed(names: &[&str]) -> String {
    match names {
        [one, other] => format!("{one} and {other}"),
        names => names.join(", "),
    }
}
