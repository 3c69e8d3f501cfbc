//! `perfconv view`.

use super::args::ViewArgs;
use super::failure::Failure;
use super::page_server::{self, PageServer};
use super::report::print_message;
use super::{convert, output};
use std::io;
use std::path::Path;
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
    let (no_open, is_served) = (args.no_open, args.serve);
    let done = convert::run(args.conversion(page.clone()));
    if !page.exists() {
        // Nothing else is in it.
        let _ = std::fs::remove_dir(&directory);
        return done;
    }
    if is_served || !no_open && page_server::is_needed() {
        serve(&directory, &page, no_open)?;
        return done;
    }
    let address = format!("file://{}", page.display());
    show(&address, no_open)?;
    done
}

/// Opens an address in the browser, or else prints it.
fn show(address: &str, no_open: bool) -> Result<(), Failure> {
    if !no_open && open(address) {
        return Ok(());
    }
    if !no_open {
        print_message(format_args!("perfconv: cannot open a browser; open this page yourself"));
    }
    output::print(format!("{address}\n").as_bytes())
}

/// Serves a page to the browser until the program ends.
fn serve(directory: &Path, page: &Path, no_open: bool) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("cannot serve the page: {error}"));
    let server = PageServer::new(page).map_err(failed)?;
    // The server has read the page.
    let _ = std::fs::remove_dir_all(directory);
    show(&server.address().map_err(failed)?, no_open)?;
    print_message(format_args!("perfconv: serving the page to this machine; press Ctrl-C to end"));
    server.run().map_err(failed)
}

/// Whether a browser opens the page.
fn open(address: &str) -> bool {
    let mut command = Command::new(OPENER);
    let command = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
