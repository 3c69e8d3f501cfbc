//! Tables for query engines, as inputs and as files.

mod datasets;
mod import;
mod scheduling;
mod schema;
