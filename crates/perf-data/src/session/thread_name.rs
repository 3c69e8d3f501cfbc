//! Names of threads as perf prints them.

use super::Session;
use std::borrow::Cow;

/// Name of the idle threads, which all have the ID 0. The kernel's boot task has it, and perf uses it without a COMM record.
pub const IDLE: &[u8] = b"swapper";

/// The name of a thread as perf prints it: the recorded one, else `swapper` for the idle threads, and `:TID` for others.
pub fn thread_name(recorded: Option<&[u8]>, tid: u32) -> Cow<'_, [u8]> {
    match recorded {
        Some(name) => name.into(),
        None if tid == 0 => IDLE.into(),
        // A signed number, as in perf.
        None => format!(":{}", tid as i32).into_bytes().into(),
    }
}

impl Session {
    /// The [name](thread_name) of a thread now.
    pub fn thread_name(&self, tid: u32) -> Cow<'_, [u8]> {
        thread_name(self.thread(tid).and_then(|thread| thread.comm).map(|comm| self.names.name(comm)), tid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unnamed_threads_have_the_names_of_perf() {
        assert_eq!(*thread_name(None, 0), *b"swapper");
        assert_eq!(*thread_name(None, u32::MAX), *b":-1");
        assert_eq!(*thread_name(Some(b"boot"), 0), *b"boot", "a recorded name wins");
        assert_eq!(*thread_name(Some(b""), 7), *b"");
    }
}
