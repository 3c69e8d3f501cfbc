//! The call chains below a row.

use crate::report::histogram::chain_tree::{Chain, ChainNodeId, ChainStyle, ChainTree};
use crate::report::histogram::code::{CodeId, CodeTable};
use std::fmt::Write;

/// The margin of call chains.
const MARGIN: usize = 12;

/// The call chains of a row.
pub(super) struct CallGraph<'a> {
    pub chains: &'a ChainTree,
    pub code: &'a CodeTable,
    pub style: ChainStyle,
    /// Value below which calls are omitted.
    pub min: u64,
    /// Value of all samples of the event.
    pub all: u64,
    /// Value of the row.
    pub row: u64,
    /// Whether a single function at the start is that of the row, which then is omitted.
    pub omits_first: bool,
}

/// What is below a function in the tree.
struct Level {
    nodes: Vec<ChainNodeId>,
    next: usize,
    depth: u32,
    /// Levels with a line to further functions, as bits. perf has 32 of them, which deeper levels share.
    lines: u32,
}

impl CallGraph<'_> {
    /// Appends the call chains.
    pub(super) fn write(&self, out: &mut String) {
        if self.chains.is_empty() {
            return;
        }
        match self.style {
            ChainStyle::Graph => self.tree(out),
            ChainStyle::Flat => self.flat(out),
            ChainStyle::Folded => self.folded(out),
        }
    }

    /// What follows a node in the tree.
    fn children(&self, node: ChainNodeId) -> Vec<ChainNodeId> {
        self.chains.children(node, self.min, self.code)
    }

    fn tree(&self, out: &mut String) {
        let start = out.len();
        let mut nodes = self.children(ChainTree::ROOT);
        let mut margin = MARGIN;
        if let [node] = nodes[..]
            && self.chains.total(node) == self.row
        {
            let path = self.chains.path(node);
            for (index, &code) in path.code.iter().skip(self.omits_first.into()).enumerate() {
                if index == 0 {
                    let _ = write!(out, "{:margin$}|\n{:margin$}---", "", "");
                    margin += 3;
                } else {
                    let _ = write!(out, "{:margin$}", "");
                }
                self.function(code, out);
            }
            nodes = self.children(path.end);
        }
        self.levels(nodes, margin, out);
        if out.len() > start {
            out.push('\n');
        }
    }

    /// The tree below its beginning. Iterative, since chains can be long.
    fn levels(&self, nodes: Vec<ChainNodeId>, margin: usize, out: &mut String) {
        let mut levels = vec![Level { nodes, next: 0, depth: 1, lines: 1 }];
        while let Some(level) = levels.last_mut() {
            let Level { depth, lines, .. } = *level;
            let Some(&node) = level.nodes.get(level.next) else {
                levels.pop();
                continue;
            };
            level.next += 1;
            if level.next == level.nodes.len() {
                level.lines &= !1_u32.wrapping_shl(depth - 1);
            }
            let below = level.lines;
            let path = self.chains.path(node);
            self.separator(depth, lines, margin, out);
            let share = percent(self.chains.total(node), self.all);
            for (index, &code) in path.code.iter().enumerate() {
                self.branch(depth, below, (index == 0).then_some(share), margin, out);
                self.function(code, out);
            }
            let lines = below | 1_u32.wrapping_shl(depth);
            levels.push(Level { nodes: self.children(path.end), next: 0, depth: depth + 1, lines });
        }
    }

    /// The line above a function.
    fn separator(&self, depth: u32, lines: u32, margin: usize, out: &mut String) {
        let _ = write!(out, "{:margin$}", "");
        for level in 0..depth {
            out.push_str(if has_line(lines, level) { "|          " } else { "           " });
        }
        out.push('\n');
    }

    /// The lines before a function, with its share.
    fn branch(&self, depth: u32, lines: u32, share: Option<f64>, margin: usize, out: &mut String) {
        let _ = write!(out, "{:margin$}", "");
        for level in 0..depth {
            out.push(if has_line(lines, level) { '|' } else { ' ' });
            match share.filter(|_| level == depth - 1) {
                Some(share) => {
                    let _ = write!(out, "--{share:.2}%--");
                }
                None => out.push_str("          "),
            }
        }
    }

    fn function(&self, code: CodeId, out: &mut String) {
        out.push_str(&self.code.chain_text(code));
        out.push('\n');
    }

    /// perf prints the share of all samples with the chain, and orders chains by those that end with it.
    fn flat(&self, out: &mut String) {
        for Chain { total, code, .. } in self.chains.chains(self.min, self.code) {
            let _ = writeln!(out, "           {:.2}%", percent(total, self.all));
            for code in code {
                out.push_str("                ");
                self.function(code, out);
            }
            out.push('\n');
        }
    }

    fn folded(&self, out: &mut String) {
        for Chain { own, code, .. } in self.chains.chains(self.min, self.code) {
            let names: Vec<_> = code.into_iter().map(|code| self.code.chain_text(code)).collect();
            let _ = writeln!(out, "{:.2}% {}", percent(own, self.all), names.join(";"));
        }
    }
}

fn has_line(lines: u32, level: u32) -> bool {
    lines & 1_u32.wrapping_shl(level) != 0
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}
