//! `perfconv --version --verbose`: what the program was built with, and what it knows.

use super::args::RELEASED;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perfconv::formats::FORMATS;
use perfconv::formats::framework::table::{readable, writable};
use std::ffi::OsStr;

/// First record type of perf; those of the kernel have lower numbers.
const FIRST_PERF_TYPE: u32 = 64;

/// Newest compilers and optimizers whose forms of profiles are written.
const OPTIMIZERS: &str = "BOLT 23, GCC 14, LLVM 22";

/// Whether the arguments ask for the version in detail.
pub(super) fn is_verbose(mut args: impl Iterator<Item = impl AsRef<OsStr>>) -> bool {
    args.any(|arg| ["-v", "--verbose", "-vV", "-Vv"].iter().any(|verbose| arg.as_ref() == *verbose))
}

/// Version, date, features and target, and the newest definitions.
pub(super) fn verbose() -> String {
    let newest_record = |is_perf_type: bool| {
        let types = RecordType::NAMED.iter().filter(|(kind, _)| (kind.0 >= FIRST_PERF_TYPE) == is_perf_type);
        let records = types.filter_map(|(kind, name)| Some((kind.descriptor()?.since, kind.0, *name)));
        records.max().map_or_else(String::new, |(since, _, name)| format!("{since} ({name})"))
    };
    let features = FeatureId::NAMED.iter().filter_map(|(id, name)| Some((id.descriptor()?.since, id.0, *name)));
    let newest_feature = features.max().map_or_else(String::new, |(since, _, name)| format!("{since} ({name})"));
    format!(
        "\
perfconv {} ({RELEASED})
target: {}
features: {}
formats: {} read, {} written
newest record type of Linux: {}
newest record type of perf: {}
newest header feature of perf: {newest_feature}
newest optimizers: {OPTIMIZERS}
",
        env!("CARGO_PKG_VERSION"),
        env!("PERFCONV_TARGET"),
        env!("PERFCONV_FEATURES"),
        readable(FORMATS).count(),
        writable(FORMATS).count(),
        newest_record(false),
        newest_record(true),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_in_detail_lists_features_and_newest_definitions() {
        let text = verbose();
        assert!(text.starts_with(concat!("perfconv ", env!("CARGO_PKG_VERSION"), " (")), "{text}");
        assert!(
            text.contains("\nfeatures: ") && text.contains("protobuf, ") && text.contains("quipper-text"),
            "{text}"
        );
        let newest = text.lines().filter(|line| line.starts_with("newest "));
        assert_eq!(newest.filter(|line| line.ends_with(')')).count(), 3, "{text}");
        assert!(is_verbose(["--version", "--verbose"].iter()) && is_verbose(["-Vv"].iter()));
        assert!(!is_verbose(["--version", "-V"].iter()));
    }
}
