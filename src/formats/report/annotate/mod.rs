//! Annotated functions: the samples at their source lines and instructions, as text or JSON.

mod arrows;
mod json;
mod text;

use super::{Color, FORMAT};
use crate::formats::Format;
use crate::formats::framework::bounded_json as bounded;
use crate::formats::framework::output::{FormatWriter, OutputFormat, ProfileFormat};
#[cfg(feature = "cli")]
use crate::option_values::number_in;
use crate::profile::Profile;
use crate::profile::labels::Label;
use crate::profile::options::FunctionNames;
use crate::report::annotation::{Annotation, BlockOrder};
use crate::report::location::Locations;
use crate::report::source_files::{SourceDirectory, SourceFiles};
use perf_data::error::{Error, Result};
use std::io::Write;
use std::path::PathBuf;

/// A function's source lines and instructions, with these options.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Annotate {
    /// The function: its name, a part that only it has, or a regular expression.
    pub function: String,

    /// Which lines and instructions are shown, and how.
    pub contents: AnnotateContents,

    /// When to color the text.
    pub color: Color,

    /// Whether arrows are drawn in ASCII.
    pub ascii: bool,

    /// Copy of the recorded machine's root directory, in which source files are looked up before their recorded paths.
    pub source_root: Option<PathBuf>,
}

/// Which lines and instructions are shown, and how.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct AnnotateContents {
    /// Order of the source lines.
    #[cfg_attr(feature = "cli", arg(short, long, value_enum, value_name = "ORDER", default_value_t))]
    pub sort: BlockOrder,

    /// Print only instructions with samples, and N before and after each [default of text: all instructions].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = number_in::<u32>(0, u32::MAX)))]
    pub context: Option<u32>,

    /// Directory with source files, for their recorded directory FROM or for any; may be repeated.
    #[cfg_attr(feature = "cli", arg(long, value_name = "[FROM=]DIR", value_parser = SourceDirectory::existing))]
    pub source_dir: Vec<SourceDirectory>,

    /// Do not read source files; print numbers of lines only.
    #[cfg_attr(feature = "cli", arg(long))]
    pub no_source: bool,

    /// Print one JSON object.
    #[cfg_attr(feature = "cli", arg(long))]
    pub json: bool,

    /// Print at most so many bytes of JSON, as many lines as fit; the members omitted and next_offset say what follows.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "N", requires = "json", value_parser = number_in::<u32>(bounded::MIN_BYTES, i32::MAX as u32))
    )]
    pub max_bytes: Option<u32>,

    /// Begin with this line of JSON [default: 0].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", requires = "json"))]
    pub offset: Option<u32>,
}

impl OutputFormat for Annotate {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for Annotate {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(&[])
    }

    fn reads_code(&self) -> bool {
        true
    }

    /// Writes the functions; an error if the profile has no function of this name.
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let AnnotateContents { sort, source_dir, no_source, json, max_bytes, offset, .. } = &self.contents;
        // Programs that read them may compare names with those in other files.
        let names = if *json { FunctionNames::Full } else { profile.tables.function_names };
        let locations = Locations::with_names(&profile.tables, names);
        let selection = locations.select(&self.function)?;
        let annotation = Annotation::new(profile, &locations, &selection, *sort);
        let mut files = match no_source {
            true => SourceFiles::none(),
            false => SourceFiles::new(self.source_root.as_deref(), source_dir),
        };
        if !no_source {
            annotation.add_missing_sources(profile, &mut files);
        }
        if *json {
            let report = json::report(profile, &locations, &annotation, self, &mut files);
            return bounded::write(report, *offset, *max_bytes, out);
        }
        let text = text::Listing { profile, locations: &locations, options: self }.text(&annotation, &mut files);
        out.write_all(text.as_bytes()).map_err(Error::Output)
    }
}
