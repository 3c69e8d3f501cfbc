//! Interned frames, stacks and mappings, and the caches before them.

pub(crate) mod cache_size;
pub(crate) mod frames;
pub(crate) mod mappings;
pub(crate) mod new_stacks;
pub(crate) mod recent;
pub(crate) mod resolver;
pub(crate) mod stack_cache;
pub mod stacks;
pub(crate) mod unmapped;
