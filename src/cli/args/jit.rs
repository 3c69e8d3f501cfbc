//! Where what names code is, and where images of it go.

use super::folder;
use crate::rewrite::jit::images::ImageOptions;
use clap::Args;
use std::path::PathBuf;

/// Options of naming code that was compiled at run time.
#[derive(Args, Clone, Debug, Default)]
pub struct JitArgs {
    /// A jitdump, or a folder that has jitdumps, which are elsewhere than when they were recorded; may be given more than once
    #[arg(long, value_name = "PATH", value_parser = there)]
    jit_dump: Vec<PathBuf>,

    /// Folder for the images that --jit and --perf-map make [default: that of the output]
    #[arg(long, value_name = "DIR", value_parser = folder)]
    jit_dir: Option<PathBuf>,
}

impl JitArgs {
    /// The name of an option that was given and is for jitdumps.
    pub fn first_of_dumps(&self) -> Option<&'static str> {
        (!self.jit_dump.is_empty()).then_some("--jit-dump")
    }

    /// The name of an option that was given and is for images.
    pub fn first_of_images(&self) -> Option<&'static str> {
        self.jit_dir.is_some().then_some("--jit-dir")
    }

    /// Where jitdumps are.
    pub fn places(&self) -> Vec<PathBuf> {
        self.jit_dump.clone()
    }

    /// Where images go.
    pub fn images(&self) -> ImageOptions {
        ImageOptions { dir: self.jit_dir.clone(), overwrite: false }
    }
}

/// A file or folder that is there.
pub fn there(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.exists() { Ok(path) } else { Err("there is no such file or folder".to_owned()) }
}
