//! The commands of README.md and of the pages in docs/, with the programs that they call.

use crate::common::docs::run_pages;
use crate::common::docs::tools::Tools;
use crate::common::oracle::requires_oracles;

/// At least as many commands are executed and compared, if all programs are installed.
const MIN_EXECUTED: usize = 155;
const MIN_COMPARED: usize = 135;

#[test]
fn documented_commands_print_what_the_pages_show_with_other_programs() {
    let (executed, compared) = run_pages(&Tools::new(true));
    let needed = if requires_oracles() { (MIN_EXECUTED, MIN_COMPARED) } else { (1, 1) };
    assert!(executed >= needed.0, "only {executed} commands executed, at least {} expected", needed.0);
    assert!(compared >= needed.1, "only {compared} outputs compared, at least {} expected", needed.1);
}
