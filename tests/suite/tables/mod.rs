//! Tables for query engines, as inputs and as files.

mod accesses;
mod datasets;
mod import;
mod scheduling;
mod schema;
