//! `perfconv view`.

use super::args::ViewArgs;
use super::failure::Failure;
use super::page_server::{self, PageServer};
use super::report::print_message;
use super::ssh::SshSession;
use super::viewer::{Viewer, encoded};
use super::{convert, output};
use perf_data::container::access::Access;
use perf_data::container::temp_directory::{TempDirectory, private};
use std::env;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Program that opens a file with the user's choice.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Writes the page of a recording to a directory for temporary files, and opens it in the browser, or prints its address. Profiles for
/// other viewers are served to them.
///
/// # Errors
/// If the recording cannot be read, or the page cannot be written.
pub(super) fn run(args: ViewArgs) -> Result<ExitCode, Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("cannot create a temporary directory: {error}"));
    // The page outlives the program, since the browser reads it later.
    let directory = private().prefix("perfconv-view-").suffix("").tempdir().map_err(failed)?.keep();
    let (viewer, no_open) = (args.viewer(), args.no_open);
    let file = directory.join(viewer.file_name());
    let address = SocketAddr::new(args.bind.unwrap_or(Ipv4Addr::LOCALHOST.into()), args.port.unwrap_or(0));
    let is_served = args.serve || args.bind.is_some() || args.port.is_some() || viewer != Viewer::Page;
    let done = convert::run(args.conversion(file.clone()));
    if !file.exists() {
        // Nothing else is in it.
        let _ = std::fs::remove_dir(&directory);
        return done;
    }
    if is_served || !no_open && page_server::is_needed() {
        serve(&directory, viewer, address, no_open)?;
        return done;
    }
    if no_open || !open(&file_address(&file)) {
        show_address(&file_address(&file), no_open)?;
        if !no_open && SshSession::current().is_some() {
            print_message(format_args!("perfconv: --serve shows how to open it on the machine from which you use ssh"));
        }
    }
    done
}

/// Prints an address that no browser opened.
fn show_address(address: &str, no_open: bool) -> Result<(), Failure> {
    if !no_open {
        print_message(format_args!("perfconv: cannot open a browser; open this page yourself"));
    }
    output::print(format!("{address}\n").as_bytes())
}

/// Serves the file of a viewer until the program ends.
fn serve(directory: &Path, viewer: Viewer, address: SocketAddr, no_open: bool) -> Result<(), Failure> {
    let noun = viewer.noun();
    let failed = |error: io::Error| Failure::Failed(format!("cannot serve the {noun} on {address}: {error}"));
    let server = PageServer::new(directory, viewer, address);
    // The server has read the file.
    let _ = std::fs::remove_dir_all(directory);
    let server = server.map_err(failed)?;
    let served = server.socket().map_err(failed)?;
    let is_private = served.ip().is_loopback();
    let shown = viewer.address(&server.address(served));
    // The arguments of the opener and of the browser are visible to all users, unlike a file. It is removed on Ctrl-C.
    let redirect = if no_open { None } else { Some(redirect(&shown).map_err(failed)?) };
    let opened = redirect.as_ref().is_some_and(|directory| open(&file_address(&directory.path().join(REDIRECT))));
    if !opened {
        show_address(&shown, no_open)?;
    }
    let ip = served.ip();
    if !is_private {
        print_message(format_args!(
            "perfconv: warning: other machines can reach {ip}: anyone who learns the address can read the {noun}, which is not encrypted"
        ));
    }
    if let Some(session) = SshSession::current().filter(|_| is_private) {
        let command = session.forwarding(served);
        print_message(format_args!("perfconv: to open it on the machine from which you use ssh, run there: {command}"));
    }
    let to = if is_private { "this machine".to_owned() } else { format!("all machines that can reach {ip}") };
    print_message(format_args!("perfconv: serving the {noun} to {to}; press Ctrl-C to end"));
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
    format!("file://{}", encoded(path.as_os_str().as_encoded_bytes(), b"/"))
}

/// Whether a browser opens the page.
fn open(address: &str) -> bool {
    let mut command = Command::new(OPENER);
    let command = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
