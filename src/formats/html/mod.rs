//! A page in one file: flame graph, heat map of time, tracks of threads, functions with their callers and callees, facts of the
//! recording.
//!
//! The program of the page is in the files beside this one. Its data is one block: a JSON object with names, then columns of
//! variable-length numbers, compressed with deflate and encoded in Base64.

mod code;
mod data;
mod measures;

use super::{Format, ShowsFunctions};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, ProfileFormat};
use crate::profile::Profile;
use crate::profile::labels::Label;
use crate::report::call_tree::CallTree;
use crate::report::ratio::EventRatio;
use crate::report::source_files::SourceDirectory;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use perf_data::error::{Error, Result};
use perf_data::printable;
use sha2::{Digest, Sha256};
use std::io::Write;

/// The page.
pub const FORMAT: Format = Format {
    extensions: &[("html", None), ("htm", None)],
    output: Some(OutputType::of::<Html>()),
    functions: ShowsFunctions::Always,
    has_short_names: true,
    ..Format::new("html", "page with flame graph, timeline, functions")
};

/// Threads, their processes and CPUs; why they waited, and how many ran, where that is measured.
const LABELS: &[Label] =
    &[Label::Tid, Label::ThreadComm, Label::Pid, Label::Comm, Label::Cpu, Label::State, Label::Parallelism];

const STYLE: &str = include_str!("page.css");
const BODY: &str = include_str!("page.html");
/// The parts of the program, in order.
const SCRIPTS: [&str; 16] = [
    include_str!("data.js"),
    include_str!("axis.js"),
    include_str!("label.js"),
    include_str!("calls.js"),
    include_str!("groups.js"),
    include_str!("tree.js"),
    include_str!("ratio.js"),
    include_str!("flame.js"),
    include_str!("time.js"),
    include_str!("waits.js"),
    include_str!("tracks.js"),
    include_str!("code.js"),
    include_str!("functions.js"),
    include_str!("state.js"),
    include_str!("filter.js"),
    include_str!("page.js"),
];

/// A page with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Html {
    /// Title of the page [default: names of the input and of the recorded command].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TEXT", value_parser = crate::option_values::title))]
    pub title: Option<String>,

    /// Include source lines or instructions of the functions with the most samples. Everyone who receives the page can read them.
    #[cfg_attr(feature = "cli", arg(long, value_enum, value_delimiter = ',', value_name = "PARTS"))]
    pub embed: Vec<Embed>,

    /// Color frames by the ratio of two events, such as instructions/cycles, at first; or by one of ipc, mpki, branch-miss-rate,
    /// cache-miss-rate, which pages offer anyway.
    #[cfg_attr(feature = "cli", arg(long, value_name = "A/B[*K]"))]
    pub ratio: Option<String>,

    /// Directory with source files, for their recorded directory FROM or for any; may be repeated.
    #[cfg_attr(feature = "cli", arg(long, value_name = "[FROM=]DIR", value_parser = SourceDirectory::existing))]
    pub source_dir: Vec<SourceDirectory>,
}

/// What a page contains of the code of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Embed {
    /// Source lines
    Source,
    /// Instructions
    Code,
}

impl OutputFormat for Html {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for Html {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(&[])
    }

    fn required_labels(&self) -> Vec<Label> {
        LABELS.to_vec()
    }

    fn has_times(&self) -> bool {
        true
    }

    fn keeps_samples(&self) -> bool {
        true
    }

    fn reads_code(&self) -> bool {
        !self.embed.is_empty()
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let title = self.title.clone().unwrap_or_else(|| default_title(profile));
        let title = printable::name(&title);
        let ratio = self.ratio.as_ref().map(|ratio| EventRatio::new(ratio, None, profile)).transpose()?;
        let tree = CallTree::new(profile, profile.base.as_deref());
        write_page(profile, &title, (&tree, self, ratio), out).map_err(Error::Output)
    }
}

/// Names of the input and of the recorded command, or else of the event with the most samples.
fn default_title(profile: &Profile) -> String {
    let (file, command) = (profile.file.as_deref().map(data::base_name), profile.tables.command.as_deref());
    match (file, command) {
        (Some(file), Some(command)) => format!("{file}: {command}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => {
            let event = profile.events_by_samples().first().copied();
            event.map_or_else(String::new, |event| profile.tables.events[event as usize].name.clone())
        }
    }
}

fn write_page(
    profile: &Profile,
    title: &str,
    contents: (&CallTree, &Html, Option<EventRatio>),
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let script = format!("\"use strict\";\n{}", SCRIPTS.concat());
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let policy = format!("default-src 'none'; script-src {}; style-src {}", hash(&script), hash(STYLE));
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{BODY}\
         <script type=\"application/octet-stream\" id=\"data\">",
        escaped(title)
    )?;
    let mut encoder = EncoderWriter::new(&mut *out, &STANDARD);
    let mut compressed = ZlibEncoder::new(&mut encoder, Compression::default());
    data::write(profile, title, contents, &mut compressed)?;
    compressed.finish()?;
    encoder.finish()?;
    drop(encoder);
    write!(out, "</script>\n<script>{script}</script>\n</body>\n</html>\n")
}

/// Text of an HTML element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
