//! Lookup of formats and their options in a table of formats.

use super::format::{Format, Reader, ShowsFunctions, Writer};
use super::options::{FormatOption, OptionValues};
use super::{FORMATS, profile_options, recording_options, symbol_options};
use perf_data::container::write::envelope::{self, Envelope};

/// The format of this name.
pub fn by_name(formats: &'static [Format], name: &str) -> Option<&'static Format> {
    formats.iter().find(|format| format.name == name)
}

/// The format and envelopes, outermost first, for a file name: `x.pb.gz` is pprof in gzip, `x.pb` is uncompressed.
pub fn by_file_name(formats: &'static [Format], name: &str) -> Option<(&'static Format, Vec<Envelope>)> {
    let (stem, asked_for) = envelope::strip(name);
    let stem = stem.to_ascii_lowercase();
    let is_extension = |extension: &str| stem.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.'));
    let all = formats.iter().flat_map(|format| format.extensions.iter().map(move |extension| (format, extension)));
    // The longest extension is the most specific.
    let found =
        all.filter(|(_, (extension, _))| is_extension(extension)).max_by_key(|(_, (extension, _))| extension.len());
    let (format, &(_, usual)) = found?;
    Some((format, if asked_for.is_empty() { Vec::from_iter(usual) } else { asked_for }))
}

/// The formats that can be read.
pub fn readable(formats: &'static [Format]) -> impl Iterator<Item = &'static Format> {
    formats.iter().filter(|format| !matches!(format.reader, Reader::Nothing))
}

/// The names of the formats of files that can be read, for messages.
pub fn readable_names() -> String {
    let is_file = |format: &&Format| !matches!(format.reader, Reader::Directory { .. });
    readable(FORMATS).filter(is_file).map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The formats that can be written.
pub fn writable(formats: &'static [Format]) -> impl Iterator<Item = &'static Format> {
    formats.iter().filter(|format| !matches!(format.writer, Writer::Nothing))
}

/// The options of formats written from a profile, or of all others, without duplicates and in the order of help.
pub fn options(formats: &'static [Format], of_profiles: bool) -> Vec<FormatOption> {
    let mut options: Vec<(FormatOption, bool)> = Vec::new();
    for format in formats {
        for &option in format.all_options() {
            if options.iter().all(|(other, _)| other.name != option.name) {
                options.push((option, format.is_of_profiles()));
            }
        }
    }
    options.sort_by_key(|(option, _)| option.is_last);
    options.into_iter().filter(|(_, is_of_profiles)| *is_of_profiles == of_profiles).map(|(option, _)| option).collect()
}

/// Rejects a format that cannot be written, or that does not support a given option.
///
/// # Errors
/// The reason.
pub fn check_options(formats: &'static [Format], format: &Format, values: &OptionValues) -> Result<(), String> {
    let is_misplaced = |option: &&FormatOption| {
        values.is_given(option) && format.all_options().all(|supported| supported.name != option.name)
    };
    if let Some(FormatOption { name, .. }) = formats.iter().flat_map(|format| format.options).find(is_misplaced) {
        let takes_it = |format: &&Format| format.options.iter().any(|option| option.name == *name);
        let formats_with_it: Vec<_> = formats.iter().filter(takes_it).map(|format| format.name).collect();
        return Err(format!("--{name} applies to {}, not to {}", formats_with_it.join(" and "), format.name));
    }
    if matches!(format.writer, Writer::Nothing) {
        return Err(format!("{} can be read but not written; choose another format", format.name));
    }
    let mut common = profile_options::OPTIONS.iter().chain(recording_options::OPTIONS).chain(symbol_options::OPTIONS);
    if let Some(option) = common.find(is_misplaced) {
        return Err(format!("--{} does not apply to {}", option.name, format.name));
    }
    let of_functions = symbol_options::OPTIONS.iter().find(|option| values.is_given(option));
    match (of_functions, format.functions) {
        (Some(given), ShowsFunctions::With { option, value }) if !format.shows_functions(values) => {
            Err(format!("--{} requires --{} {value} with {}", given.name, option.name, format.name))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::FORMATS;
    use Envelope::{Gzip, Zstd};

    #[test]
    fn file_names_determine_format_and_envelope() {
        let choice = |name| by_file_name(FORMATS, name).map(|(format, envelopes)| (format.name, envelopes));
        assert_eq!(choice("a/out.pb.gz"), Some(("pprof", vec![Gzip])));
        assert_eq!(choice("OUT.PB.GZ"), Some(("pprof", vec![Gzip])));
        assert_eq!(choice("out.pb.zst"), Some(("pprof", vec![Zstd])));
        assert_eq!(choice("out.pb.gz.zst"), Some(("pprof", vec![Zstd, Gzip])));
        assert_eq!(choice("out.pb"), Some(("pprof", vec![])));
        assert_eq!(choice("out.pprof"), Some(("pprof", vec![Gzip])));
        assert_eq!(choice("out.pprof.zst"), Some(("pprof", vec![Zstd])));
        assert_eq!(choice("perf.data"), Some(("perf.data", vec![])));
        assert_eq!(choice("perf.data.gz"), Some(("perf.data", vec![Gzip])));
        assert_eq!(choice("out.gz"), None);
        assert_eq!(choice("pb"), None);
    }
}
