//! Shows the progress of long work on standard error: a line on a terminal, lines of text or of JSON elsewhere.
//!
//! A thread looks at the tasks of the library a few times per second, so that the work itself does not wait for the terminal.
//! Messages and output on the same terminal hide the line while they are written.

use super::args::ProgressArg;
use console::Term;
use indicatif::{BinaryBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use perf_data::container::read::ReadOptions;
use perf_data::progress::{Progress, TaskState, Work};
use serde_json::json;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
#[cfg(unix)]
use std::sync::TryLockError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long the program works before anything is shown.
const DELAY: Duration = Duration::from_secs(1);

/// How often the line on a terminal is updated.
const INTERVAL: Duration = Duration::from_millis(100);

// The line on a terminal.
const WITH_TOTAL: &str = "perfconv: {msg}  {percent}% [{bar:12}] {prefix}";
const WITHOUT_TOTAL: &str = "perfconv: {msg}  {prefix}";

/// Maximum width of a file name in the line.
const NAME_WIDTH: usize = 30;

static OBSERVER: OnceLock<Progress> = OnceLock::new();

static DISPLAY: Mutex<Display> = Mutex::new(Display::None);

/// Whether a pager has the terminal.
static HAS_PAGER: AtomicBool = AtomicBool::new(false);

/// Where and how progress is shown.
enum Display {
    /// Nowhere, or no longer.
    None,
    /// A line on the terminal, with the task it shows.
    Line(ProgressBar, Option<(Work, Instant)>),
    /// A line of text each second.
    Text,
    /// A line of JSON each second.
    Json,
}

/// The observer of work; it observes nothing if progress is not shown.
pub(super) fn observer() -> Progress {
    OBSERVER.get().cloned().unwrap_or_default()
}

/// These options with the observer.
pub(super) fn observed(options: ReadOptions) -> ReadOptions {
    options.with_progress(observer())
}

/// Starts to show progress.
pub(super) fn start(when: ProgressArg, is_quiet: bool) {
    let on_terminal = io::stderr().is_terminal();
    let display = match when {
        ProgressArg::Never => return,
        ProgressArg::Auto if is_quiet || !on_terminal => return,
        ProgressArg::Json => Display::Json,
        ProgressArg::Always if !on_terminal => Display::Text,
        ProgressArg::Auto | ProgressArg::Always => {
            Display::Line(ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()), None)
        }
    };
    let interval = if matches!(display, Display::Line(..)) { INTERVAL } else { DELAY };
    *locked() = display;
    let begin = Instant::now();
    if cfg!(target_family = "wasm") {
        // There are no threads, so the work itself shows its progress; a program gets the first line at once.
        let is_for_program = when == ProgressArg::Json;
        let next = Mutex::new(if is_for_program { begin } else { begin + DELAY });
        let show = move |tasks: &[TaskState]| {
            let (mut next, now) = (next.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
            if now >= *next {
                *next = now + if is_for_program { INTERVAL } else { interval };
                locked().show(tasks, begin);
            }
        };
        OBSERVER.get_or_init(|| Progress::calling(show));
        return;
    }
    let progress = OBSERVER.get_or_init(Progress::observed);
    let show = move || {
        thread::sleep(DELAY);
        while locked().show(&progress.tasks(), begin) {
            thread::sleep(interval);
        }
    };
    // Without a thread, nothing is shown.
    let _ = thread::Builder::new().name("progress".to_owned()).spawn(show);
}

/// Hides the line, and shows nothing from now on.
pub(super) fn end() {
    locked().end();
}

/// As [`end`], but does not wait for a thread that writes to a terminal or pipe that does not take it.
#[cfg(unix)]
pub(super) fn end_for_signal() {
    for _ in 0..20 {
        match DISPLAY.try_lock() {
            Ok(mut display) => return display.end(),
            Err(TryLockError::Poisoned(display)) => return display.into_inner().end(),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Notes that a pager shows the output, on the same terminal.
#[cfg(target_os = "linux")]
pub(super) fn share_terminal() {
    HAS_PAGER.store(true, Ordering::Relaxed);
}

/// Runs a function that writes to standard error, while the line is hidden.
pub(super) fn without_display(write: impl FnOnce()) {
    let display = locked();
    match &*display {
        Display::Line(bar, _) => bar.suspend(write),
        _ => write(),
    }
}

/// Standard output. If it is on the terminal, progress ends with the first output.
pub(super) struct AfterDisplay<W>(pub W);

impl<W: Write> Write for AfterDisplay<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if HAS_PAGER.load(Ordering::Relaxed) || io::stdout().is_terminal() {
            end();
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn locked() -> MutexGuard<'static, Display> {
    DISPLAY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Display {
    /// Shows the task that began last; `false` if nothing is shown any more.
    fn show(&mut self, tasks: &[TaskState], begin: Instant) -> bool {
        match self {
            Self::None => return false,
            Self::Line(bar, shown) => draw(bar, shown, tasks, begin),
            Self::Text => {
                let _ = writeln!(io::stderr(), "perfconv: {}", text(tasks.last(), begin));
            }
            Self::Json => {
                let _ = writeln!(io::stderr(), "{}", json(tasks, begin));
            }
        }
        true
    }

    fn end(&mut self) {
        if let Self::Line(bar, _) = self {
            bar.finish_and_clear();
        }
        *self = Self::None;
    }
}

/// Updates the line on the terminal.
fn draw(bar: &ProgressBar, shown: &mut Option<(Work, Instant)>, tasks: &[TaskState], begin: Instant) {
    if bar.is_hidden() {
        bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(Narrower(Term::stderr()))));
        bar.set_style(style(WITHOUT_TOTAL));
    }
    let task = tasks.last();
    let now = task.map(|task| (task.work, task.begin));
    if *shown != now {
        *shown = now;
        let total = task.and_then(|task| task.total);
        bar.set_style(style(if total.is_some() { WITH_TOTAL } else { WITHOUT_TOTAL }));
        bar.set_length(total.unwrap_or(0));
    }
    bar.set_position(task.map_or(0, |task| task.done));
    bar.set_message(task.map_or_else(|| "finishing".to_owned(), activity));
    bar.set_prefix(task.map_or_else(|| in_total(begin), details));
    bar.tick();
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// A terminal of which the line leaves the last columns free: for the `^C` that the terminal prints.
#[derive(Debug)]
struct Narrower(Term);

impl TermLike for Narrower {
    fn width(&self) -> u16 {
        self.0.size().1.saturating_sub(3)
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        self.0.move_cursor_up(lines)
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        self.0.move_cursor_down(lines)
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        self.0.move_cursor_right(columns)
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        self.0.move_cursor_left(columns)
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.0.write_line(line)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

fn unit(work: Work) -> &'static str {
    match work {
        Work::Reading | Work::Downloading => "bytes",
        Work::OpeningObjects => "objects",
        _ => "addresses",
    }
}

/// The kind of work and the file, whose name is shortened and cannot contain control characters.
fn activity(task: &TaskState) -> String {
    let name = task.name.rsplit('/').next().unwrap_or_default();
    let mut shown: String = name.chars().filter(|c| !c.is_control()).take(NAME_WIDTH).collect();
    if name.chars().count() > NAME_WIDTH {
        shown.push('…');
    }
    let (verb, noun) = match task.work {
        Work::Reading => ("reading", "recording"),
        Work::Downloading => ("downloading", "file"),
        Work::OpeningObjects => ("opening", "object files"),
        _ => ("resolving", "addresses"),
    };
    format!("{verb} {}", if shown.is_empty() { noun } else { &shown })
}

/// How much is done, how fast, and how long the rest takes: `1.25 MiB of 6.28 MiB, 500.00 KiB/s, 11 s left`.
fn details(task: &TaskState) -> String {
    let is_bytes = unit(task.work) == "bytes";
    let amount = |count: u64| if is_bytes { BinaryBytes(count).to_string() } else { HumanCount(count).to_string() };
    let mut text = amount(task.done);
    if let Some(total) = task.total {
        let _ = write!(text, " of {}", amount(total));
    }
    if let Some(rate) = rate(task).filter(|_| is_bytes) {
        let _ = write!(text, ", {}/s", BinaryBytes(rate as u64));
    }
    match seconds_left(task) {
        Some(left) => _ = write!(text, ", {left:.0} s left"),
        None => _ = write!(text, ", {} s", task.begin.elapsed().as_secs()),
    }
    text
}

fn in_total(begin: Instant) -> String {
    format!("{} s in total", begin.elapsed().as_secs())
}

/// A task as a line of text: `reading perf.data: 45%, 1.25 MiB of 2.75 MiB, 500.00 KiB/s, 3 s left`.
fn text(task: Option<&TaskState>, begin: Instant) -> String {
    let Some(task) = task else { return format!("finishing: {}", in_total(begin)) };
    let (activity, details) = (activity(task), details(task));
    match task.total {
        Some(total) => format!("{activity}: {}%, {details}", (task.done * 100).checked_div(total).unwrap_or(100)),
        None => format!("{activity}: {details}"),
    }
}

/// The task that began last as JSON.
fn json(tasks: &[TaskState], begin: Instant) -> serde_json::Value {
    let elapsed = seconds(begin.elapsed());
    let Some(task) = tasks.last() else {
        return json!({ "progress": { "work": "finishing", "elapsed_seconds": elapsed } });
    };
    let work = match task.work {
        Work::Reading => "reading",
        Work::Downloading => "downloading",
        Work::OpeningObjects => "opening objects",
        _ => "resolving addresses",
    };
    json!({ "progress": {
        "work": work,
        "name": task.name,
        "done": task.done,
        "total": task.total,
        "unit": unit(task.work),
        "per_second": rate(task).map(f64::round),
        "seconds_left": seconds_left(task).map(|left| (left * 10.0).round() / 10.0),
        "elapsed_seconds": elapsed,
        "tasks": tasks.len(),
    } })
}

fn rate(task: &TaskState) -> Option<f64> {
    let elapsed = task.begin.elapsed().as_secs_f64();
    (task.done > 0 && elapsed > 0.0).then(|| task.done as f64 / elapsed)
}

fn seconds_left(task: &TaskState) -> Option<f64> {
    Some(task.total?.saturating_sub(task.done) as f64 / rate(task)?)
}

/// Seconds with one decimal.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_valid() {
        for template in [WITH_TOTAL, WITHOUT_TOTAL] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
