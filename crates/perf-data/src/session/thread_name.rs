//! Names of threads as perf prints them.

use super::Session;
use std::borrow::Cow;

/// Name of the idle threads, which all have the ID 0. The kernel's boot task has it, and perf uses it without a COMM record.
pub const IDLE: &str = "swapper";

/// The name that perf prints for a thread without a recorded one: `swapper` for the idle threads, and `:TID` for others.
pub fn unnamed_thread(tid: u32) -> Cow<'static, str> {
    // A signed number, as in perf.
    if tid == 0 { IDLE.into() } else { format!(":{}", tid as i32).into() }
}

impl Session {
    /// The current name of a thread: the recorded one, else that of an [unnamed thread](unnamed_thread).
    pub fn thread_name(&self, tid: u32) -> Cow<'_, [u8]> {
        if let Some(comm) = self.thread(tid).and_then(|thread| thread.comm) {
            return self.names.name(comm).into();
        }
        match unnamed_thread(tid) {
            Cow::Borrowed(name) => name.as_bytes().into(),
            Cow::Owned(name) => name.into_bytes().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::process::SessionThread;

    #[test]
    fn threads_have_the_names_of_perf() {
        assert_eq!([0, 7, u32::MAX].map(unnamed_thread), ["swapper", ":7", ":-1"]);
        let mut session = Session::default();
        assert_eq!([0, u32::MAX].map(|tid| session.thread_name(tid).into_owned()), [&b"swapper"[..], b":-1"]);
        for (tid, name) in [(0, &b"boot"[..]), (7, b"")] {
            let comm = Some(session.names.id(name));
            session.threads.insert(tid, SessionThread { pid: tid, comm });
        }
        assert_eq!([0, 7].map(|tid| session.thread_name(tid).into_owned()), [&b"boot"[..], b""], "recorded names win");
    }
}
