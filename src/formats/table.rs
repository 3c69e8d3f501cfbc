//! Looking formats up in a table of them.

use super::envelope::{self, Envelope};
use super::format::{Format, Reads, Writes};

/// The format of that name.
pub fn by_name(formats: &'static [Format], name: &str) -> Option<&'static Format> {
    formats.iter().find(|format| format.name == name)
}

/// The format and the envelopes, outermost first, that a file name asks for: `x.pb.gz` is a pprof in gzip, `x.pb` a bare
/// one.
pub fn by_file_name(formats: &'static [Format], name: &str) -> Option<(&'static Format, Vec<Envelope>)> {
    let (stem, asked_for) = envelope::strip(name);
    let (_, ending) = stem.rsplit_once('.')?;
    let (format, usual) = formats.iter().find_map(|format| {
        let &(_, usual) = format.extensions.iter().find(|(extension, _)| extension.eq_ignore_ascii_case(ending))?;
        Some((format, usual))
    })?;
    Some((format, if asked_for.is_empty() { Vec::from_iter(usual) } else { asked_for }))
}

/// The formats that can be read.
pub fn readable(formats: &'static [Format]) -> impl Iterator<Item = &'static Format> {
    formats.iter().filter(|format| !matches!(format.reads, Reads::Nothing))
}

/// The formats that can be written.
pub fn writable(formats: &'static [Format]) -> impl Iterator<Item = &'static Format> {
    formats.iter().filter(|format| !matches!(format.writes, Writes::Nothing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::FORMATS;
    use Envelope::{Gzip, Zstd};

    #[test]
    fn names_choose_format_and_envelope() {
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
