//! What tracepoints' samples tell: the values in their RAW bytes, by the formats of the recording's tracing data.
//!
//! ```c
//! // events/sched/sched_process_exec/format, a line each
//! field:__data_loc char[] filename;  offset:8;   size:4; signed:0;  // a text that stands elsewhere
//! field:pid_t pid;                   offset:12;  size:4; signed:1;  // a number
//! field:char comm[16];               offset:16;  size:16;           // a text in its place
//! field:unsigned long args[6];       offset:32;  size:48;           // numbers
//! ```
//!
//! * [`field`]: where a field is, and what it holds, by its declaration.
//! * [`value`]: what a payload has there.
//! * [`tracepoints`]: the tracepoints of a recording, by their numbers.

pub mod field;
pub mod tracepoints;
pub mod value;
