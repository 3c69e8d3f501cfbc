//! ELF images of code that was in no file: what a compiler made at run time, or what is only known by name.
//!
//! * [`image`]: what is in an image; [`write`](mod@write): the file that it becomes; [`machine`]: for which machine.
//! * [`folder`]: the folders that images are found in.
//! * [`lines`]: its lines of source; [`unwind`]: how its frames are unwound.

pub mod folder;
pub mod image;
pub mod lines;
pub mod machine;
pub mod unwind;
pub mod write;
