//! `perfconv help [TOPIC]`.

use super::args::{AFTER_FORMATS, Cli, HelpArgs, command, format_options, formats_table};
use super::failure::Failure;
use super::{output, perf};
use perfconv::formats::framework::table::by_name;
use perfconv::formats::omitted::omitted;
use perfconv::formats::{FORMATS, Format, FormatReader};
use perfconv::suggest::unknown;
use std::process::ExitCode;

/// The topic that lists the formats.
const FORMATS_TOPIC: &str = "formats";

/// Prints the help for a topic; for the program without one.
///
/// # Errors
/// If the topic is unknown, or standard output cannot be written.
pub(super) fn run(args: HelpArgs) -> Result<ExitCode, Failure> {
    let text = match args.topic.as_deref() {
        None => long_help(None)?,
        Some(FORMATS_TOPIC) => format!("{}\n\n{AFTER_FORMATS}\n", formats_table()),
        Some(topic) => long_help(Some(topic))?,
    };
    output::print(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The long help of the program or of one of its commands, or the description of a format.
fn long_help(name: Option<&str>) -> Result<String, Failure> {
    let mut program = command::<Cli>();
    program.build();
    let Some(name) = name else { return Ok(program.render_long_help().to_string()) };
    if let Some(command) = program.find_subcommand_mut(name) {
        return Ok(command.render_long_help().to_string());
    }
    // A command has the name of a format that it writes.
    if let Some(format) = by_name(FORMATS, name) {
        return Ok(describe(format));
    }
    if let Some(usage) = perf::command_usage(name) {
        return Ok(format!("{usage} Type 'perfconv perf {name}'.\n\n"));
    }
    if let Some(message) = omitted(name).or_else(|| perf::instead_of(&[name.into()])) {
        return Err(Failure::Usage(message));
    }
    let mut topics: Vec<_> = program.get_subcommands().map(|command| command.get_name()).collect();
    topics.push(FORMATS_TOPIC);
    for format in FORMATS {
        if !topics.contains(&format.name) {
            topics.push(format.name);
        }
    }
    Err(Failure::Usage(unknown("help topic", name, &topics)))
}

/// Describes a format: directions, extensions and options.
fn describe(format: &Format) -> String {
    let extensions = format.extensions.iter().map(|(extension, _)| format!(".{extension}"));
    let extensions = extensions.collect::<Vec<_>>().join(", ");
    let directions = match (&format.reader, &format.output) {
        (FormatReader::Nothing, None) => "neither read nor written",
        (FormatReader::Nothing, _) => "written only",
        (_, None) => "read only",
        (_, _) => "read and written",
    };
    let mut text = format!("{}: {}\n\nDirections: {directions}\n", format.name, format.about);
    if !extensions.is_empty() {
        text += &format!("Extensions: {extensions}; a further .gz or .zst compresses\n");
    }
    let options = format_options(format);
    if !options.is_empty() {
        text += &format!("\nOptions:\n{options}\n");
    }
    text
}
