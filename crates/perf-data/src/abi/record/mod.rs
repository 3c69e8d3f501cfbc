//! Records: the common header, one file for each type, and the enum over all of them.

pub mod aux_area;
pub mod auxtrace;
pub mod auxtrace_error;
pub mod auxtrace_info;
pub mod body;
pub mod bpf_event;
pub mod bpf_metadata;
pub mod build_id;
pub mod callchain_deferred;
pub mod cgroup;
pub mod comm;
pub mod compressed;
pub mod cpu_map;
pub(crate) mod decoded;
pub mod descriptor;
pub mod event_update;
pub mod finished;
pub mod header;
pub mod header_attr;
pub mod header_feature;
pub mod id_index;
pub mod ksymbol;
pub mod lost;
pub mod mmap;
pub mod mmap2;
pub mod named_misc;
pub mod namespaces;
pub(crate) mod payload;
pub mod read;
pub mod schedstat;
pub mod stat;
pub mod switch;
pub mod task;
#[cfg(any(test, feature = "testing"))]
pub mod test_record;
pub mod text_poke;
pub mod thread_map;
pub mod throttle;
pub mod time_conv;
pub mod tracing_data;

pub use body::{Body, RecordType};
pub use decoded::{Record, RecordContext};
pub use header::{CpuMode, Misc, RecordHeader};
