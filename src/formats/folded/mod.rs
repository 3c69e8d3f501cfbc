//! Folded stacks, the text that flame graphs are made of: `main;work;leaf 12`, a stack a line, root first, and how often.

mod import;

pub use import::{import, recognises};
