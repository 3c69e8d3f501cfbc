//! Parses lists of event names.

/// Parses comma-separated event names. Commas between the slashes of a PMU event (`cpu/event=0x3c,umask=0/`) and in the braces
/// of a group are part of the name.
///
/// # Errors
/// Fails on an empty name.
pub(crate) fn event_names(text: &str) -> Result<Vec<String>, String> {
    let (mut names, mut start) = (Vec::new(), 0);
    let (mut in_slashes, mut braces) = (false, 0_u32);
    for (at, char) in text.char_indices() {
        match char {
            // The slash of a breakpoint, mem:ADDRESS/LENGTH, has no closing slash.
            '/' if !text[start..at].trim_start().starts_with("mem:") => in_slashes = !in_slashes,
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            ',' if !in_slashes && braces == 0 => {
                names.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    names.push(&text[start..]);
    let names: Vec<_> = names.into_iter().map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) { Err("empty event name".to_owned()) } else { Ok(names) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_slashes_and_braces_do_not_separate() {
        for (text, expected) in [
            ("cycles", &["cycles"][..]),
            ("cycles, sched:sched_switch", &["cycles", "sched:sched_switch"]),
            ("cpu/event=0x3c,umask=0/u,cycles", &["cpu/event=0x3c,umask=0/u", "cycles"]),
            ("{a,b}:S,c", &["{a,b}:S", "c"]),
            ("mem:0x1000/8:w,cycles", &["mem:0x1000/8:w", "cycles"]),
            ("a,mem:0x1/4:r,cpu/x,y/", &["a", "mem:0x1/4:r", "cpu/x,y/"]),
        ] {
            assert_eq!(
                event_names(text).as_deref(),
                Ok(&expected.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()[..])
            );
        }
        assert!(event_names("").is_err() && event_names("a,").is_err() && event_names("a,,b").is_err());
    }
}
