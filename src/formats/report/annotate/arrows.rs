//! Arrows of jumps beside instructions.

use crate::report::annotation::AnnotatedInstruction;

/// Number of columns for lines of arrows. Further jumps have none.
const LANES: usize = 6;

/// Characters of arrows.
#[derive(Clone, Copy)]
struct Shapes {
    vertical: char,
    horizontal: char,
    top: char,
    bottom: char,
    middle: char,
    head: char,
}

const UNICODE: Shapes =
    Shapes { vertical: '│', horizontal: '─', top: '┌', bottom: '└', middle: '├', head: '>' };

const ASCII: Shapes = Shapes { vertical: '|', horizontal: '-', top: '.', bottom: '\'', middle: '+', head: '>' };

/// A jump between two instructions, by their indexes.
#[derive(Clone, Copy)]
struct Jump {
    from: usize,
    to: usize,
}

impl Jump {
    fn first(self) -> usize {
        self.from.min(self.to)
    }

    fn last(self) -> usize {
        self.from.max(self.to)
    }
}

/// The arrows beside each instruction, all of equal width. Short jumps are nearest to the instructions.
pub(super) fn arrows(instructions: &[AnnotatedInstruction], ascii: bool) -> Vec<String> {
    let index_of = |address: u64| instructions.binary_search_by_key(&address, |instruction| instruction.address).ok();
    let jump = |(from, instruction): (usize, &AnnotatedInstruction)| {
        let to = instruction.target.filter(|_| instruction.is_jump).and_then(index_of)?;
        Some(Jump { from, to })
    };
    let mut jumps: Vec<Jump> = instructions.iter().enumerate().filter_map(jump).collect();
    jumps.sort_by_key(|jump| (jump.last() - jump.first(), jump.from));
    let mut lanes: [Vec<Option<Jump>>; LANES] = std::array::from_fn(|_| vec![None; instructions.len()]);
    let mut used = 0;
    for jump in jumps {
        let range = jump.first()..=jump.last();
        // Jumps to the same instruction can share a lane if they overlap only there.
        let is_free = |lane: &Vec<Option<Jump>>| lane[range.clone()].iter().all(Option::is_none);
        if let Some(lane) = lanes.iter().position(is_free) {
            lanes[lane][range].fill(Some(jump));
            used = used.max(lane + 1);
        }
    }
    let shapes = if ascii { ASCII } else { UNICODE };
    (0..instructions.len()).map(|index| row(&lanes[..used], index, shapes)).collect()
}

/// The arrows beside an instruction, the outermost lane first.
fn row(lanes: &[Vec<Option<Jump>>], index: usize, shapes: Shapes) -> String {
    if lanes.is_empty() {
        return String::new();
    }
    let (mut text, mut is_target, mut is_line) = (String::new(), false, false);
    for lane in lanes.iter().rev() {
        let jump = lane[index];
        let ends = jump.is_some_and(|jump| jump.from == index || jump.to == index);
        is_target |= jump.is_some_and(|jump| jump.to == index);
        text.push(match jump {
            Some(jump) if ends && jump.from == jump.to => shapes.middle,
            Some(jump) if ends && jump.first() == index => shapes.top,
            Some(_) if ends => shapes.bottom,
            Some(_) => shapes.vertical,
            None if is_line => shapes.horizontal,
            None => ' ',
        });
        is_line |= ends;
    }
    text.push(match (is_target, is_line) {
        (true, _) => shapes.head,
        (false, true) => shapes.horizontal,
        (false, false) => ' ',
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Instructions of one byte, with the index that each jumps to.
    fn drawn(targets: &[Option<u64>]) -> Vec<String> {
        let instruction = |(address, &target): (u64, &Option<u64>)| AnnotatedInstruction {
            address,
            len: 1,
            text: Some(String::new()),
            target,
            is_jump: true,
            position: Arc::default(),
            has_inner_samples: false,
            usage: Vec::new(),
        };
        arrows(&(0..).zip(targets).map(instruction).collect::<Vec<_>>(), false)
    }

    #[test]
    fn jumps_are_drawn_in_lanes() {
        assert_eq!(drawn(&[None, Some(0), None]), ["┌>", "└─", "  "]);
        assert_eq!(drawn(&[Some(3), None, Some(1), None]), ["┌──", "│┌>", "│└─", "└─>"]);
        assert_eq!(drawn(&[Some(0), Some(9)]), ["├>", "  "], "to itself, and out of the function");
        assert_eq!(drawn(&[None, None]), ["", ""]);
    }

    #[test]
    fn jumps_that_need_too_many_lanes_have_no_arrow() {
        let targets: Vec<_> = (0..20).map(|index| Some(39 - index)).chain(std::iter::repeat_n(None, 20)).collect();
        assert!(drawn(&targets).iter().all(|row| row.chars().count() == LANES + 1));
    }
}
