//! Arguments of `annotate`.

use super::help::{INPUT, OUTPUT, PROFILES, REPORT, headed};
use super::passes::ReadingPasses;
use super::profile::{NameMapArgs, ProfileArgs};
use super::profile_report::extension;
use super::symbols::SymbolArgs;
use super::{ColorArg, ConvertArgs, ReadArgs, default_input, file_mode};
use clap::Args;
use perf_data::container::access::FileMode;
use perfconv::formats::FORMATS;
use perfconv::formats::framework::table::by_file_name;
use perfconv::formats::report::annotate::{Annotate, AnnotateContents};
use perfconv::formats::report::{Color, FORMAT};
use perfconv::profile::options::FunctionNames;
use perfconv::profile::stack_cuts::StackCuts;
use perfconv::profile::weight::WeightOptions;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `annotate`.
#[derive(Args, Debug)]
#[command(mut_args(headed::<AnnotateContents>(REPORT)))]
pub(crate) struct AnnotateArgs {
    /// Function to annotate: its name, a part that only it has, or a regular expression
    #[arg(value_name = "FUNC")]
    pub function: String,

    /// Recording to read: a file, a directory, or - for standard input [default: perf.data]
    #[arg(value_name = "IN", default_value_os_t = default_input(), hide_default_value = true, conflicts_with = "input_option")]
    pub input: PathBuf,

    /// Recording to read, as with perf
    #[arg(short = 'i', long = "input", value_name = "IN", help_heading = INPUT)]
    pub input_option: Option<PathBuf>,

    #[command(flatten)]
    pub contents: AnnotateContents,

    #[command(flatten, next_help_heading = PROFILES)]
    pub weight: WeightOptions,

    /// How to show names of functions
    #[arg(long, value_enum, value_name = "HOW", default_value_t, help_heading = PROFILES)]
    pub names: FunctionNames,

    #[command(flatten)]
    pub symbols: SymbolArgs,

    /// File to write, or - for standard output; .json selects JSON
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

impl AnnotateArgs {
    /// The equivalent conversion.
    ///
    /// # Errors
    /// If the extension of the output is of a form that annotated functions do not have.
    pub(crate) fn conversion(self, has_color: bool, ascii: bool) -> Result<ConvertArgs, String> {
        let mut annotate = Annotate::default();
        annotate.function = self.function;
        annotate.contents = self.contents;
        if extension(&self.output).as_deref() == Some("json") {
            annotate.contents.json = true;
        } else if let Some((format, _)) = by_file_name(FORMATS, &self.output.to_string_lossy()) {
            let (name, output) = (format.name, self.output.display());
            return Err(format!("-o: annotated functions are text or .json; 'perfconv IN -o {output}' writes {name}"));
        }
        annotate.ascii = ascii;
        annotate.source_root = self.passes.0.find.symfs.clone().filter(|root| !root.as_os_str().is_empty());
        annotate.color = if has_color { Color::Always } else { Color::Never };
        Ok(ConvertArgs {
            inputs: vec![self.input_option.unwrap_or(self.input)],
            output: Some(self.output),
            to: Some(FORMAT.name.to_owned()),
            force: self.force,
            mode: self.mode,
            profile: ProfileArgs::with_cuts(self.weight, StackCuts::default(), self.names, NameMapArgs::default()),
            read: self.read,
            passes: self.passes.0,
            format: Some(Arc::new(annotate)),
            symbols: self.symbols,
            verbose: self.verbose,
            quiet: self.quiet,
            ..ConvertArgs::default()
        })
    }
}
