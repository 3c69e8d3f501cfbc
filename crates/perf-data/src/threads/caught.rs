//! Panics of dependencies on untrusted input.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is caught by [`caught`]: the program then neither reports it nor ends.
pub fn is_caught() -> bool {
    IS_CAUGHT.get()
}

/// Calls a function, and returns the message of its panic. What the function changed before it must not be used.
///
/// # Errors
/// If the function panics. A program that was built to abort on panics ends instead.
pub fn caught<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    let before = IS_CAUGHT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(before);
    result.map_err(|panic| message(&*panic).to_owned())
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_a_panic_is_returned() {
        assert_eq!(caught(|| 7), Ok(7));
        assert_eq!(caught(|| panic!("{} is wrong", 7)), Err::<(), _>("7 is wrong".to_owned()));
        assert!(caught(is_caught).unwrap() && !is_caught());
    }
}
