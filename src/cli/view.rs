//! `perfconv view`.

use super::args::ViewArgs;
use super::failure::Failure;
use super::page_server::{self, PageServer};
use super::report::print_message;
use super::{convert, output};
use perf_data::container::access::Access;
use perf_data::container::temp_directory::{TempDirectory, private};
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Program that opens a file with the user's choice.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Writes the page of a recording to a directory for temporary files, and opens it in the browser, or prints its address.
///
/// # Errors
/// If the recording cannot be read, or the page cannot be written.
pub(super) fn run(args: ViewArgs) -> Result<ExitCode, Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("cannot create a temporary directory: {error}"));
    // The page outlives the program, since the browser reads it later.
    let directory = private().prefix("perfconv-view-").suffix("").tempdir().map_err(failed)?.keep();
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
    let address = file_address(&page);
    show(&address, no_open)?;
    done
}

/// Opens an address in the browser, or else prints it.
fn show(address: &str, no_open: bool) -> Result<(), Failure> {
    if !no_open && open(address) {
        return Ok(());
    }
    show_address(address, no_open)
}

/// Prints an address that no browser opened.
fn show_address(address: &str, no_open: bool) -> Result<(), Failure> {
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
    let address = server.address().map_err(failed)?;
    // The arguments of the opener and of the browser are visible to all users, unlike a file. It is removed on Ctrl-C.
    let redirect = if no_open { None } else { Some(redirect(&address).map_err(failed)?) };
    let opened = redirect.as_ref().is_some_and(|directory| open(&file_address(&directory.path().join(REDIRECT))));
    if !opened {
        show_address(&address, no_open)?;
    }
    print_message(format_args!("perfconv: serving the page to this machine; press Ctrl-C to end"));
    server.run().map_err(failed)
}

/// Name of the file that leads the browser to a served page.
const REDIRECT: &str = "open.html";

/// Writes a page that leads to an address, which only the user can read. Browsers that read neither `/tmp` nor hidden directories
/// find it in the home directory.
fn redirect(address: &str) -> io::Result<TempDirectory> {
    let home = env::var_os("HOME").map(PathBuf::from).filter(|_| page_server::is_needed());
    let directory = TempDirectory::visible(home.as_deref(), "perfconv-view-")?;
    let page = format!(
        "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>\
         <meta http-equiv=refresh content=\"0;url={address}\"><a href=\"{address}\">profile</a>\n"
    );
    std::fs::write(directory.path().join(REDIRECT), page)?;
    Access::OWNER.restrict_entries(directory.path())?;
    Ok(directory)
}

/// The address of a file.
fn file_address(path: &Path) -> String {
    let mut address = String::from("file://");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => address.push(byte.into()),
            _ => address += &format!("%{byte:02X}"),
        }
    }
    address
}

/// Whether a browser opens the page.
fn open(address: &str) -> bool {
    let mut command = Command::new(OPENER);
    let command = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
