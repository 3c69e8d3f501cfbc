//! Fields of tracepoint samples: the values in their RAW bytes, decoded by the formats of the tracing data.
//!
//! ```c
// events/sched/sched_process_exec/format, one field per line
//! field:__data_loc char[] filename;  offset:8;   size:4; signed:0;  // location of a string
//! field:pid_t pid;                   offset:12;  size:4; signed:1;  // integer
//! field:char comm[16];               offset:16;  size:16;           // string in place
//! field:unsigned long args[6];       offset:32;  size:48;           // array of integers
//! ```
//!
//! * [`field`]: location and kind of a field, from its declaration.
//! * [`value`]: value of a field in a payload.
//! * [`event_header`]: fields whose names and types are in the payload itself.
//! * [`print_format`]: text of a payload; [`expression`] has its arguments, `expression_parser` their syntax, `tokens` its words.
//! * [`tracepoints`]: the tracepoints of a recording, by ID.

mod address;
pub mod event_header;
pub mod expression;
mod expression_parser;
pub mod field;
pub mod print_format;
mod tokens;
pub mod tracepoints;
pub mod value;
