//! `perfconv view`.

use super::args::ViewArgs;
use super::failure::Failure;
use super::report::print_message;
use super::{convert, output};
use std::io;
use std::process::{Command, ExitCode, Stdio};

/// Program that opens a file with the user's choice.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Writes the page of a recording to a directory for temporary files, and opens it in the browser, or prints its address.
///
/// # Errors
/// If the recording cannot be read, or the page cannot be written.
pub fn run(args: ViewArgs) -> Result<ExitCode, Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("cannot create a temporary directory: {error}"));
    // The page outlives the program, since the browser reads it later.
    let directory = tempfile::Builder::new().prefix("perfconv-view-").tempdir().map_err(failed)?.keep();
    let page = directory.join("profile.html");
    let no_open = args.no_open;
    let done = convert::run(args.conversion(page.clone()));
    if !page.exists() {
        // Nothing else is in it.
        let _ = std::fs::remove_dir(&directory);
        return done;
    }
    let address = format!("file://{}", page.display());
    let is_open = !no_open && open(&address);
    if !is_open {
        if !no_open {
            print_message(format_args!("perfconv: cannot open a browser; open this page yourself"));
        }
        output::print(format!("{address}\n").as_bytes())?;
    }
    done
}

/// Whether a browser opens the page.
fn open(address: &str) -> bool {
    let mut command = Command::new(OPENER);
    let command = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
