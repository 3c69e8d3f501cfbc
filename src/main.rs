//! The `perfconv` program; see [`cli`].

mod cli;

use std::process::ExitCode;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[cfg(target_os = "wasi")]
    wasi::prepare();
    cli::main()
}

#[cfg(target_os = "wasi")]
mod wasi {
    use std::env;
    use std::path::Path;

    /// Sets what the system has no default for: the directory for temporary files, and the working directory.
    pub(super) fn prepare() {
        let _ = tempfile::env::override_temp_dir(Path::new("/tmp"));
        if let Some(directory) = env::var_os("PWD") {
            let _ = env::set_current_dir(directory);
        }
    }
}
