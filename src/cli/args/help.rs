//! Help: `-h` prints the most common options on one screen, `--help` all of them under headings.

use clap::builder::{StyledStr, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Args, Command, CommandFactory};
use std::ffi::OsStr;

/// Headings of options that are not declared in tables.
pub(super) const INPUT: &str = "Input";
pub(super) const OUTPUT: &str = "Output";
pub(super) const IMPORTING: &str = "Importing profiles";
/// Heading of the options of recordings as output.
pub(super) const RECORDINGS: &str = "perf.data output";
/// Heading of the options of all formats written from a profile.
pub(super) const PROFILES: &str = "Profiles";
/// Heading of the options of all formats that show functions.
pub(super) const SYMBOLS: &str = "Symbols";
/// Heading of the options of a report.
pub(super) const REPORT: &str = "Report";
/// Heading of the options of a page.
pub(super) const PAGE: &str = "Page";
/// Heading of the options that belong to some formats.
pub(super) const SINGLE_FORMATS: &str = "Options for specific formats";

/// Options that `-h` shows of a command with more than [`MANY`], by their IDs, each with a short description.
const COMMON: [(&str, &str); 6] = [
    ("output", "File to write, or - for standard output"),
    ("to", "Output format [default: by the extension of OUT]"),
    ("force", "Overwrite an existing output"),
    ("event", "Keep only samples of these events"),
    ("time", "Keep only samples of these times, e.g. 10%-20%"),
    ("symfs", "Directory with the files of the recorded machine"),
];

/// The same of `report`, in addition.
const COMMON_OF_REPORT: [(&str, &str); 9] = [
    ("sort", "What samples are grouped by, such as dso or comm,sym"),
    ("limit", "Print at most N entries of each list"),
    ("tree", "Print the tree of calls"),
    ("diff", "Show how the shares of functions differ from those in BASE"),
    ("list", "Print the source lines of each function that matches"),
    ("lines", "Print the source lines of a function"),
    ("symbol", "Print the callers and callees of a function"),
    ("callers", "Print the callers of a function"),
    ("no_children", "Sort by the samples in each function itself"),
];

/// Options that `-h` hides of all commands, by their IDs.
const RARE: [&str; 12] = [
    "allow_mixed",
    "buildid_dir",
    "endian",
    "jit_dir",
    "jit_dump",
    "kernel_from",
    "known_build_ids",
    "progress",
    "report",
    "spool_dir",
    "strict",
    "symfs",
];

/// Options that `-h` shows of all commands, by their IDs.
const ALWAYS: [&str; 3] = ["short_help", "long_help", "version"];

/// Number of options up to which `-h` shows all but the rare ones.
const MANY: usize = 25;

/// Adapts an argument of `convert` to a command that writes only perf.data: hides the options of other formats.
pub(super) fn for_recordings_only(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "output" => {
            let help = "perf.data to write, or - for standard output; a final .gz or .zst compresses it";
            arg.help(help).long_help(help)
        }
        "out_dir" => arg.help("Write one perf.data for each recording to this directory, named after the recording"),
        "to" => arg.hide(true),
        _ => {
            let is_for_other_formats = matches!(arg.get_help_heading(), Some(PROFILES | SINGLE_FORMATS | SYMBOLS));
            arg.hide(is_for_other_formats)
        }
    }
}

/// Sets the help heading of the arguments that a type of the library declares.
pub(super) fn headed<A: Args>(heading: &'static str) -> impl Fn(Arg) -> Arg {
    let declared = A::augment_args(Command::new(""));
    let ids: Vec<_> = declared.get_arguments().map(|argument| argument.get_id().clone()).collect();
    move |argument| if ids.contains(argument.get_id()) { argument.help_heading(heading) } else { argument }
}

/// Arguments of `help`.
#[derive(Args, Debug)]
pub(crate) struct HelpArgs {
    /// Command or format to describe; 'formats' lists the formats
    #[arg(value_name = "TOPIC")]
    pub topic: Option<String>,
}

/// The program's command, with `-h` and `--help`.
pub(crate) fn command<T: CommandFactory>() -> Command {
    let short = Arg::new("short_help")
        .short('h')
        .global(true)
        .help("Print the most common options")
        .action(ArgAction::SetTrue)
        .value_parser(ShortHelp);
    let long = Arg::new("long_help").long("help").global(true).help("Print all options").action(ArgAction::HelpLong);
    T::command().disable_help_flag(true).arg(short).arg(long)
}

/// The help that `-h` requested, if this error represents it.
pub(crate) fn short_help(error: &clap::Error) -> Option<&StyledStr> {
    match error.get(ContextKind::Custom) {
        Some(ContextValue::StyledStr(text)) => Some(text),
        _ => None,
    }
}

/// An argument of a large command: `-h` shows common ones, with a short description.
fn shortened(arg: Arg, is_report: bool) -> Arg {
    let of_report = COMMON_OF_REPORT.iter().filter(|_| is_report);
    match COMMON.iter().chain(of_report).find(|(id, _)| *id == arg.get_id().as_str()) {
        Some((_, short)) => {
            let long = arg.get_long_help().or(arg.get_help()).cloned().unwrap_or_default();
            arg.help(*short).long_help(long)
        }
        None => {
            let is_shown = arg.is_positional() || ALWAYS.contains(&arg.get_id().as_str());
            arg.hide_short_help(!is_shown)
        }
    }
}

fn without_rare(arg: Arg) -> Arg {
    let is_rare = RARE.contains(&arg.get_id().as_str());
    arg.hide_short_help(is_rare)
}

/// Renders the short help of the command that is parsed, instead of a value.
#[derive(Clone)]
struct ShortHelp;

impl TypedValueParser for ShortHelp {
    type Value = bool;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<bool, clap::Error> {
        // The default is parsed too.
        if value == "false" {
            return Ok(false);
        }
        let mut error = clap::Error::new(ErrorKind::DisplayHelp);
        error.insert(ContextKind::Custom, ContextValue::StyledStr(render_short(command)));
        Err(error)
    }
}

/// Help without headings of options, which take separate lines.
fn render_short(command: &Command) -> StyledStr {
    let is_large = command.get_opts().count() > MANY;
    let header = command.get_styles().get_header();
    let mut template = "{about}\n\n{usage-heading} {usage}".to_owned();
    let mut section = |is_shown: bool, title: &str, tag: &str| {
        if is_shown {
            template += &format!("\n\n{header}{title}:{header:#}\n{{{tag}}}");
        }
    };
    section(command.has_subcommands(), "Commands", "subcommands");
    section(!command.has_subcommands() && command.get_positionals().next().is_some(), "Arguments", "positionals");
    section(true, "Options", "options");
    template += "{after-help}";
    let is_report = command.get_name() == "report";
    let command = command.clone().mut_args(|arg| if is_large { shortened(arg, is_report) } else { without_rare(arg) });
    command.help_template(template).render_help()
}
