//! Lookup of formats and their options in a table of formats.

use super::format::{Format, FormatReader};
use crate::formats::FORMATS;
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
    let longest =
        all.filter(|(_, (extension, _))| is_extension(extension)).max_by_key(|(_, (extension, _))| extension.len());
    let (format, &(_, usual)) = longest?;
    Some((format, if asked_for.is_empty() { Vec::from_iter(usual) } else { asked_for }))
}

/// A format with the compression of a file name. By an extension of the format this is the usual one; otherwise the format's
/// default, unless the name ends in another.
pub fn with_compression(
    format: &'static Format,
    by_extension: Option<(&'static Format, Vec<Envelope>)>,
    name: &str,
) -> (&'static Format, Vec<Envelope>) {
    match by_extension {
        Some((named, envelopes)) if named.name == format.name => (format, envelopes),
        _ => {
            let (_, compression) = envelope::strip(name);
            (format, if compression.is_empty() { Vec::from_iter(format.envelope) } else { compression })
        }
    }
}

/// The formats that can be read.
pub fn readable(formats: &'static [Format]) -> impl Iterator<Item = &'static Format> {
    formats.iter().filter(|format| !matches!(format.reader, FormatReader::Nothing))
}

/// The names of the formats of files that can be read, for messages.
pub fn readable_names() -> String {
    let is_file = |format: &&Format| !matches!(format.reader, FormatReader::Directory { .. });
    readable(FORMATS).filter(is_file).map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The formats that can be written.
pub fn writable(formats: &'static [Format]) -> impl Iterator<Item = &'static Format> {
    formats.iter().filter(|format| format.output.is_some())
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
