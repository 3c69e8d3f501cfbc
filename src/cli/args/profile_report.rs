//! Arguments of `report`.

use super::formats::NOT_COMPARED;
use super::help::{INPUT, OUTPUT, PROFILES, REPORT, headed};
use super::passes::ReadingPasses;
use super::profile::{NameMapArgs, ProfileArgs};
use super::symbols::SymbolArgs;
use super::{ConvertArgs, ReadArgs, default_input, existing_path, file_mode};
use clap::{Args, ValueEnum};
use perf_data::container::access::FileMode;
use perf_data::container::write::envelope::strip;
use perfconv::formats::framework::table::by_file_name;
use perfconv::formats::report::{Color, Contents, FORMAT, MARKDOWN, Markdown, Report};
use perfconv::formats::{FORMATS, OutputFormat};
use perfconv::profile::options::FunctionNames;
use perfconv::profile::stack_cuts::StackCuts;
use perfconv::profile::weight::WeightOptions;
use perfconv::report::key::ReportKey;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Arguments of `report`.
#[derive(Args, Debug)]
#[command(mut_args(headed::<Contents>(REPORT)))]
pub(crate) struct ReportArgs {
    /// Recording to read: a file, a directory, or - for standard input [default: perf.data]
    #[arg(value_name = "IN", default_value_os_t = default_input(), hide_default_value = true, conflicts_with = "input_option")]
    pub input: PathBuf,

    /// Recording to read, as with perf
    #[arg(short = 'i', long = "input", value_name = "IN", help_heading = INPUT)]
    pub input_option: Option<PathBuf>,

    /// What samples are grouped by, separated by commas [default: comm,dso,sym]
    #[arg(short, long = "sort", visible_alias = "group-by", value_name = "KEYS", value_delimiter = ',', value_parser = ReportKey::parser(), conflicts_with = "tree")]
    pub sort: Vec<ReportKey>,

    /// Also count samples in what a function calls (the default)
    #[arg(long, conflicts_with = "no_children")]
    pub children: bool,

    /// Show how the shares of functions differ from those in this recording [default of --sort: sym]
    #[arg(
        long,
        value_name = "BASE",
        conflicts_with_all = NOT_COMPARED,
        value_parser = existing_path(),
        help_heading = REPORT
    )]
    pub diff: Option<PathBuf>,

    #[command(flatten)]
    pub contents: Contents,

    #[command(flatten, next_help_heading = PROFILES)]
    pub weight: WeightOptions,

    #[command(flatten, next_help_heading = PROFILES)]
    pub cuts: StackCuts,

    /// How to show names of functions
    #[arg(long, value_enum, value_name = "HOW", default_value_t, help_heading = PROFILES)]
    pub names: FunctionNames,

    #[command(flatten)]
    pub name_maps: NameMapArgs,

    #[command(flatten)]
    pub symbols: SymbolArgs,

    /// File to write, or - for standard output; .csv, .json and .md select this form
    #[arg(short, long, value_name = "OUT", default_value = "-", help_heading = OUTPUT)]
    pub output: PathBuf,

    /// Overwrite an existing output
    #[arg(short, long, help_heading = OUTPUT)]
    pub force: bool,

    /// Permissions of the output, such as 644 [default: those that all inputs have]
    #[arg(long, value_name = "MODE", value_parser = file_mode, help_heading = OUTPUT)]
    pub mode: Option<FileMode>,

    /// When to color the text
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto", help_heading = OUTPUT)]
    pub color: ColorArg,

    /// Do not page the text on a terminal
    #[arg(long, help_heading = OUTPUT)]
    pub no_pager: bool,

    #[command(flatten)]
    pub read: ReadArgs,

    #[command(flatten)]
    pub passes: ReadingPasses,

    /// Print a table of records by type: read, used, dropped
    #[arg(short, long)]
    pub verbose: bool,

    /// Suppress all messages except errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// When text is colored, as named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArg {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ReportArgs {
    /// The equivalent conversion to a report, in the form of the extension of its output.
    ///
    /// # Errors
    /// If the extension is of a form that the report does not have.
    pub(crate) fn conversion(self, has_color: bool) -> Result<ConvertArgs, String> {
        let output = self.output;
        let mut contents = self.contents;
        let extension = extension(&output);
        let names = [&contents.callers, &contents.callees, &contents.symbol, &contents.lines, &contents.list];
        let is_list = names.into_iter().all(Option::is_none);
        if let Some(key) = self.sort.iter().find(|key| key.requires_branches()) {
            let problem = if !self.weight.sample_weight().is_per_sample() {
                Some("have no other value; omit --weight, --span and --off-cpu")
            } else if !is_list || contents.tree.is_some() || contents.mem || contents.sched || contents.ratio.is_some()
            {
                Some("are listed only; omit what prints something else")
            } else {
                None
            };
            if let Some(problem) = problem {
                return Err(format!("--sort {}: branches {problem}", key.name()));
            }
        }
        let has_form = contents.csv || contents.json;
        let mut is_markdown = false;
        match extension.as_deref() {
            Some(form @ ("csv" | "md" | "markdown")) if !is_list || contents.tree.is_some() => {
                return Err(format!(
                    "-o: callers, callees, lines and trees are text or JSON, not .{form}; choose another name, such as x.txt"
                ));
            }
            Some("csv") => contents.csv |= !has_form,
            Some("json") => contents.json |= !has_form,
            Some("md" | "markdown") => is_markdown = !has_form,
            _ => {
                if let Some((format, _)) = by_file_name(FORMATS, &output.to_string_lossy()) {
                    let (name, output) = (format.name, output.display());
                    return Err(format!(
                        "-o: a report is text, .csv, .json or .md; 'perfconv IN -o {output}' writes {name}"
                    ));
                }
            }
        }
        let (format, name): (Arc<dyn OutputFormat>, _) = if is_markdown {
            let mut markdown = Markdown::default();
            markdown.limit = contents.limit;
            markdown.growth = contents.growth;
            (Arc::new(markdown), MARKDOWN.name)
        } else {
            let mut report = Report::default();
            report.group_by = self.sort;
            report.contents = contents;
            report.source_root = self.passes.0.find.symfs.clone().filter(|root| !root.as_os_str().is_empty());
            report.color = if has_color { Color::Always } else { Color::Never };
            (Arc::new(report), FORMAT.name)
        };
        Ok(ConvertArgs {
            inputs: vec![self.input_option.unwrap_or(self.input)],
            output: Some(output),
            to: Some(name.to_owned()),
            force: self.force,
            mode: self.mode,
            diff: self.diff,
            profile: ProfileArgs::with_cuts(self.weight, self.cuts, self.names, self.name_maps),
            read: self.read,
            passes: self.passes.0,
            format: Some(format),
            symbols: self.symbols,
            verbose: self.verbose,
            quiet: self.quiet,
            ..ConvertArgs::default()
        })
    }
}

/// The extension of an output, without that of its compression.
pub(super) fn extension(output: &Path) -> Option<String> {
    let name = output.to_string_lossy();
    let (stem, _) = strip(&name);
    Path::new(stem).extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase())
}
