//! Rules for single features.

use super::finding::Rule;
use super::stored_symbols;
use super::tracepoints;
use perf_data::abi::Endian;
use perf_data::abi::feature::perf_reader::{PerfReader, Rejection, RejectionKind};
use perf_data::abi::feature::string::hiperf_command;
use perf_data::abi::feature::{Feature, FeatureContext, FeatureId, FeatureSection};
use perf_symbols::symbol::stored_object::{STORED_OBJECTS, feature_name};

/// Checks a feature section.
pub(super) fn check(
    id: FeatureId,
    bytes: &[u8],
    endian: Endian,
    context: &FeatureContext,
    reader: &PerfReader,
    mut report: impl FnMut(Rule, String),
) {
    let section = FeatureSection::read(id, bytes, endian, context);
    if matches!(section.feature, Feature::Opaque(_)) {
        if STORED_OBJECTS.contains(&id.0) {
            stored_symbols::check(id.0, bytes, &mut report);
        } else if feature_name(id.0).is_some() || id == FeatureId::CMDLINE && hiperf_command(bytes).is_some() {
            // Features of hiperf, and its layout of the command line.
        } else if id.name().is_none() {
            report(Rule::Unknown, format!("unknown feature of {} bytes", bytes.len()));
        } else {
            report(Rule::Undecodable, format!("its {} bytes do not have the layout of this feature", bytes.len()));
        }
    }
    if section.tail.iter().any(|&byte| byte != 0) {
        report(Rule::Tail, format!("{} bytes after its fields are not all zero", section.tail.len()));
    }
    if !section.to_bytes(endian).is_ok_and(|written| written == bytes) {
        report(Rule::NotReproduced, "re-encoding it gives different bytes".into());
    }
    if id.needs_context() && context.nr_cpus.is_none() {
        report(
            Rule::Inconsistent,
            "the feature NRCPUS, which is needed to decode it, is missing or comes later".into(),
        );
    }
    if let Feature::TracingData(data) = &section.feature {
        tracepoints::check_formats(data, &mut report);
    }
    if let Some(Rejection { kind, problem, by_all }) = reader.rejection(&section) {
        let rule = match kind {
            RejectionKind::Version => Rule::Version,
            RejectionKind::Limit => Rule::Limit,
            RejectionKind::Contradiction => Rule::Inconsistent,
        };
        let effect =
            if by_all { "ignores the features behind it, and rejects a pipe" } else { "7.1 and newer reject the file" };
        report(rule, format!("{problem}; perf {effect}"));
    }
    if let (Feature::EventDescs(descs), Some(events)) = (&section.feature, reader.events)
        && descs.events.len() != events
    {
        let problem = format!("it describes {} events, but there are {events}", descs.events.len());
        report(Rule::Inconsistent, problem);
    }
}
