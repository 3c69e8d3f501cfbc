//! `perfconv man DIR`: manual pages of the program and of each command, generated from their arguments and [`pages`].

mod options;
mod pages;
mod sections;

use super::args::{Cli, ManArgs, RELEASED, command};
use super::failure::Failure;
use super::output;
use super::perf_to_profile;
use clap::Command;
use pages::{PAGES, PERF_TO_PROFILE, Page};
use perf_data::container::output::OutputRules;
use perf_data::error::Error;
use roff::{Roff, roman};
use std::fs;
use std::process::ExitCode;

/// Writes the pages to a directory, which is created if it does not exist.
///
/// # Errors
/// If the directory or a page cannot be written.
pub(super) fn run(args: ManArgs) -> Result<ExitCode, Failure> {
    let directory = args.directory;
    fs::create_dir_all(&directory).map_err(Error::io(directory.display().to_string(), "cannot create"))?;
    let rules = OutputRules { overwrite: args.force, ..OutputRules::default() };
    for (name, text) in pages() {
        let output = output::check(&directory.join(name), &[], true, rules)?;
        output.write(|out| out.write_all(text.as_bytes()).map_err(Error::Output))?.put_in_place()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// File names and contents of all pages.
fn pages() -> Vec<(String, String)> {
    let mut program = command::<Cli>();
    // Sets the full names of the subcommands, and adds the global arguments to each.
    program.build();
    let command_pages = PAGES.iter().map(|page| {
        let command = page.command.map_or(&program, |name| program.find_subcommand(name).expect("a command"));
        rendered(page, command.clone())
    });
    let mut other = perf_to_profile::command();
    other.build();
    let other_page = rendered(&PERF_TO_PROFILE, other);
    command_pages.chain([other_page]).collect()
}

fn rendered(page: &Page, mut command: Command) -> (String, String) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-");
    let usage = command.render_usage().to_string();
    let after_help = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let mut roff = Roff::new();
    let version = concat!("perfconv ", env!("CARGO_PKG_VERSION"));
    roff.control("TH", [&*name.to_uppercase(), "1", RELEASED, version, "perfconv Manual"]);
    roff.control("SH", ["NAME"]);
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    roff.text([roman(format!("{name} - {about}"))]);
    sections::synopsis(&usage, &mut roff);
    sections::description(page, &mut roff);
    sections::commands(&command, &mut roff);
    options::section(&command, &mut roff);
    sections::after_help(after_help.as_deref().unwrap_or_default(), &mut roff);
    sections::examples(page, &mut roff);
    sections::files(page, &mut roff);
    sections::environment(page, &mut roff);
    sections::see_also(page, &name, &mut roff);
    (format!("{name}.1"), roff.render())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::error::ErrorKind;

    #[test]
    fn each_command_has_a_page() {
        let program = command::<Cli>();
        let mut commands: Vec<_> =
            program.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name).collect();
        let mut described: Vec<_> = PAGES.iter().filter_map(|page| page.command).collect();
        commands.sort_unstable();
        described.sort_unstable();
        assert_eq!(commands, described);
    }

    #[test]
    fn pages_have_the_date_of_the_version() {
        let changes = include_str!("../../../CHANGELOG.md");
        let heading = format!("\n## [{}] - {RELEASED}\n", env!("CARGO_PKG_VERSION"));
        assert!(changes.contains(&heading), "CHANGELOG.md does not contain{heading}");
    }

    #[test]
    fn examples_are_valid_arguments() {
        let mut count = 0;
        for page in PAGES {
            for (_, example) in page.examples {
                // Of a pipe or a list of commands, those of the program.
                let commands = example.split(['|', ';']).filter_map(|part| part.find("perfconv").map(|at| &part[at..]));
                let before = count;
                for one in commands {
                    let words = shlex::split(one.split(['>', ')']).next().unwrap_or(one)).expect("quoted words");
                    let error = command::<Cli>().try_get_matches_from(words).err();
                    // Files in examples do not exist here.
                    let is_valid = |error: &clap::Error| error.to_string().to_lowercase().contains(": no such ");
                    let error = error.filter(|error| error.kind() != ErrorKind::DisplayHelp && !is_valid(error));
                    assert!(error.is_none(), "{one}: {}", error.map(|error| error.to_string()).unwrap_or_default());
                    count += 1;
                }
                assert!(count > before, "{example} does not run the program");
            }
            assert!(!page.examples.is_empty(), "{:?} has no examples", page.command);
        }
        assert!(count > 30, "{count} examples");
    }
}
