//! Names of thread pools, whose threads have names that differ in numbers only.

use std::borrow::Cow;

/// What each number of a name becomes, as in perf's sort key `comm_nodigit`.
const NUMBER: &[u8] = b"<N>";

/// The name of the pool of a thread: `worker-1` and `worker-2` are in `worker-<N>`. A name without digits is its own pool.
pub(crate) fn pool_name(thread: &[u8]) -> Cow<'_, [u8]> {
    if !thread.iter().any(u8::is_ascii_digit) {
        return thread.into();
    }
    let mut pool = Vec::with_capacity(thread.len() + NUMBER.len());
    for run in thread.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        pool.extend_from_slice(if run[0].is_ascii_digit() { NUMBER } else { run });
    }
    pool.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_replaced() {
        for (thread, pool) in [
            ("worker-12", "worker-<N>"),
            ("12", "<N>"),
            ("kworker/0:1H", "kworker/<N>:<N>H"),
            (":4711", ":<N>"),
            ("make", "make"),
            ("", ""),
            ("٣", "٣"),
        ] {
            assert_eq!(String::from_utf8_lossy(&pool_name(thread.as_bytes())), pool, "{thread}");
        }
    }
}
