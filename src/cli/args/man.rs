//! Arguments of `man` and `completions`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Directory to write, with one page for each command; it is created if it does not exist
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,

    /// Overwrite existing pages
    #[arg(short, long)]
    pub force: bool,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Shell whose script is printed
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: ShellArg,
}

/// A shell, as named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellArg {
    /// Bash 4.4 or later
    Bash,
    /// Elvish
    Elvish,
    /// Fish
    Fish,
    /// Nushell
    Nushell,
    /// PowerShell
    Powershell,
    /// Zsh
    Zsh,
}
