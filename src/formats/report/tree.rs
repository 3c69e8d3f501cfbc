//! Trees of calls as text.

use super::style::line;
use super::text::{Page, join_events};
use super::{rows, total};
use crate::report::Counts;
use crate::report::function_tree::{FunctionTree, TreeDirection};
use crate::report::tree_lines::{ChainLink, TreeLimits, TreeLine, TreeLines};
use perf_data::printable;

/// Characters of the names of a line up to which it takes another one.
const WIDTH: usize = 100;

/// Characters of a name: more than two lines of a terminal hide the tree.
const MAX_NAME: usize = 200;

/// The characters of a tree.
struct Drawing {
    /// Before a line with others below the same parent, and before the last one.
    forks: [&'static str; 2],
    /// Before the lines below such lines.
    below: [&'static str; 2],
    /// Between a function and the next one of its line, by direction.
    calls: &'static str,
    called_by: &'static str,
    times: &'static str,
    ellipsis: &'static str,
}

const UNICODE: Drawing =
    Drawing {
        forks: ["├─ ", "└─ "], below: ["│  ", "   "], calls: "→ ", called_by: "← ", times: "×", ellipsis: "…"
    };

const ASCII: Drawing = Drawing {
    forks: ["|- ", "`- "],
    below: ["|  ", "   "],
    calls: "-> ",
    called_by: "<- ",
    times: "x",
    ellipsis: "...",
};

impl Drawing {
    /// What is before a line, and before those that continue it. By level down to the line: whether it is the last below its parent.
    /// Lines of the first level have no branches.
    fn branches(&self, is_last: &[bool]) -> (String, String) {
        let [_, above @ .., last] = is_last else { return (String::new(), String::new()) };
        let above: String = above.iter().map(|last| self.below[usize::from(*last)]).collect();
        (format!("{above}{}", self.forks[usize::from(*last)]), format!("{above}{}", self.below[usize::from(*last)]))
    }
}

impl Page<'_> {
    /// The calls of each event.
    pub(super) fn trees(&self, direction: TreeDirection, is_ascii: bool) -> String {
        let drawing = if is_ascii { &ASCII } else { &UNICODE };
        let tree = |&event| {
            let tree = FunctionTree::new(self.profile, self.locations, rows(self.profile, event), direction);
            self.heading(event, total(self.profile, event)) + &self.tree(&tree, direction, drawing)
        };
        join_events(self.profile.has_samples.iter().map(tree), "\n")
    }

    fn tree(&self, tree: &FunctionTree, direction: TreeDirection, drawing: &Drawing) -> String {
        let limits = TreeLimits { percent: self.settings.percent_limit, lines: self.settings.limit };
        let lines = TreeLines::new(tree, limits);
        let percent = |counts: Counts| self.style.percent(counts.percent_of(tree.total()));
        let (heading, arrow) = match direction {
            TreeDirection::Callees => ("  total     self  function", drawing.calls),
            TreeDirection::Callers => ("  share  function", drawing.called_by),
        };
        let mut text = String::new();
        line!(text, "{heading}");
        let margin = " ".repeat(heading.len() - "function".len());
        let mut above: Vec<bool> = Vec::new();
        for TreeLine { level, is_last, chain, omitted, usage } in &lines.list {
            above.truncate(*level);
            above.push(*is_last);
            let (branch, below) = drawing.branches(&above);
            let own = match direction {
                TreeDirection::Callers => String::new(),
                TreeDirection::Callees if chain.is_empty() => " ".repeat(9),
                TreeDirection::Callees => format!("  {}", percent(usage.own)),
            };
            let mut parts = self.chain_lines(chain, arrow, drawing).into_iter();
            let first = parts.next().unwrap_or_else(|| format!("{} {omitted} more", drawing.ellipsis));
            line!(text, "{}{own}  {branch}{first}", percent(usage.total));
            parts.for_each(|part| line!(text, "{margin}{below}{part}"));
        }
        if lines.omitted > 0 {
            let calls = if lines.omitted == 1 { "call" } else { "calls" };
            let share = lines.omitted_samples.percent_of(tree.total());
            let limits = "choose others with --percent-limit and --limit";
            line!(text, "{} more {calls} below the limits, with {share:.2}% of the samples; {limits}", lines.omitted);
        }
        text
    }

    /// The functions of a line, on as many lines as they need.
    fn chain_lines(&self, chain: &[ChainLink], arrow: &str, drawing: &Drawing) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for (index, link) in chain.iter().enumerate() {
            let name = match *link {
                ChainLink::Omitted(count) => format!("{} {count} more {}", drawing.ellipsis, drawing.ellipsis),
                ChainLink::Function(function, times) => {
                    let name = self.locations.function_name(function.name);
                    // Shortened names have an ellipsis.
                    let name = printable::short(&name, MAX_NAME).replace('…', drawing.ellipsis);
                    if times > 1 { format!("{name} {}{times}", drawing.times) } else { name }
                }
            };
            let part = if index > 0 { format!("{arrow}{name}") } else { name };
            match lines.last_mut() {
                Some(line) if line.chars().count() + part.chars().count() < WIDTH => {
                    line.push(' ');
                    line.push_str(&part);
                }
                _ => lines.push(part),
            }
        }
        lines
    }
}
