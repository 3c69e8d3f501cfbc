//! Outputs as the user names them: standard output, and terminals, to which no binary output is written.

use super::{failure::Failure, progress, standard_streams};
use perf_data::container::access::Access;
use perf_data::container::output::{Output, OutputRules, is_input, is_the_input};
use perf_data::error::{Error, Result};
use same_file::Handle;
use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

/// Standard output.
pub(super) const STDOUT: Output = Output::Stream { name: "standard output", open: open_stdout };

/// Checks that a target may be written; `-` is standard output.
///
/// # Errors
/// If it is a terminal and `on_terminal` is not set, and as [`Output::check`].
pub(super) fn check(
    path: &Path,
    inputs: &[&Path],
    on_terminal: bool,
    rules: OutputRules,
) -> std::result::Result<Output, Failure> {
    let name = if path == Path::new("-") { STDOUT.name() } else { path.display().to_string() };
    if !on_terminal && is_terminal(path) {
        return Err(Failure::Usage(format!(
            "{name}: binary output is not written to a terminal; name a file with -o, or use a pipe"
        )));
    }
    if path != Path::new("-") {
        let output = Output::check(path, inputs, rules)?;
        return match output {
            Output::Special(_) if rules.is_directory => Err(not_a_directory(&name)),
            output => Ok(output),
        };
    }
    standard_streams::require_stdout()?;
    if rules.is_directory {
        return Err(not_a_directory(&name));
    }
    let file =
        Handle::stdout().ok().filter(|stdout| stdout.as_file().metadata().is_ok_and(|metadata| metadata.is_file()));
    match file.and_then(|file| inputs.iter().find(|input| is_input(&file, input))) {
        Some(input) => Err(is_the_input(&name, input).into()),
        None => Ok(STDOUT),
    }
}

/// Creates a directory for outputs and those above it, unless they exist.
///
/// # Errors
/// Errors of the system.
pub(super) fn create_directories(directory: &Path, access: Access) -> std::result::Result<(), Failure> {
    let failed = |e| Failure::Failed(format!("{}: cannot create directory: {e}", directory.display()));
    access.create_directories(directory).map_err(failed)
}

/// The failure to write a directory to an output that cannot be one.
pub(super) fn not_a_directory(name: &str) -> Failure {
    Failure::Usage(format!("{name}: the output is a directory; name one with -o"))
}

/// The failure to write to standard output.
pub(super) fn stdout_failed(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::BrokenPipe,
        _ => STDOUT.failed("cannot write")(error).into(),
    }
}

/// Writes text to standard output.
///
/// # Errors
/// Errors of the system.
pub(super) fn print(text: &[u8]) -> std::result::Result<(), Failure> {
    Ok(STDOUT.write(|out| out.write_all(text).map_err(Error::Output))?.put_in_place()?)
}

fn open_stdout() -> Result<Box<dyn Write + Send>> {
    standard_streams::require_stdout()?;
    Ok(Box::new(progress::AfterDisplay(stdout::open()?)))
}

/// The file itself instead of std's `Stdout`, which is line-buffered.
#[cfg(not(target_os = "wasi"))]
mod stdout {
    use perf_data::error::{Error, Result};
    use same_file::Handle;
    use std::io::{self, Write};

    pub(super) struct StandardOutput(Handle);

    pub(super) fn open() -> Result<StandardOutput> {
        Ok(StandardOutput(Handle::stdout().map_err(Error::Output)?))
    }

    impl Write for StandardOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.as_file_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.as_file_mut().flush()
        }
    }
}

/// WASI cannot open a stream as a file.
#[cfg(target_os = "wasi")]
mod stdout {
    use perf_data::error::Result;
    use std::io::{self, Stdout};

    pub(super) fn open() -> Result<Stdout> {
        Ok(io::stdout())
    }
}

/// Whether a path is a terminal; `-` is standard output. Only devices are opened: opening a FIFO would wait for a reader.
fn is_terminal(path: &Path) -> bool {
    if path == Path::new("-") {
        return io::stdout().is_terminal();
    }
    #[cfg(unix)]
    let can_be_terminal =
        |metadata: &fs::Metadata| std::os::unix::fs::FileTypeExt::is_char_device(&metadata.file_type());
    #[cfg(not(unix))]
    let can_be_terminal = |metadata: &fs::Metadata| !metadata.is_dir();
    fs::metadata(path).is_ok_and(|metadata| can_be_terminal(&metadata))
        && File::options().append(true).open(path).is_ok_and(|file| file.is_terminal())
}
