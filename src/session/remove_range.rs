//! What stands at places in a range, taken away.

use super::floor::floor;
use immutable_chunkmap::map::{Map, NodeRef};
use std::ops::RangeInclusive;

/// So many are taken away one by one, which is the fastest for few.
const FEW: usize = 64;

/// Takes away what is in a range. However much that is, it takes no longer than a few times the depth of the tree, since a
/// process may take the place of all that it shares with its parent, and thousands of processes after it.
pub fn cut<V: Clone, const SIZE: usize>(map: &mut Map<u64, V, SIZE>, range: RangeInclusive<u64>) {
    for _ in 0..FEW {
        match floor(map, *range.end()) {
            Some((key, _)) if range.contains(&key) => map.remove_cow(&key),
            _ => return,
        };
    }
    let (start, last) = range.into_inner();
    let below = side(map.root(), &|key| key < start, Side::Left);
    let above = side(map.root(), &|key| key > last, Side::Right);
    *map = below.union(&above, |_, _, value| Some(value.clone()));
}

/// Which end of a map stays.
#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// What stays on one side of a tree, whose nodes are shared with it.
fn side<V: Clone, const SIZE: usize>(
    node: Option<NodeRef<'_, u64, V, SIZE>>,
    stays: &impl Fn(u64) -> bool,
    of: Side,
) -> Map<u64, V, SIZE> {
    let Some(node) = node else { return Map::new() };
    let (outer, inner) = match of {
        Side::Left => (node.left(), node.right()),
        Side::Right => (node.right(), node.left()),
    };
    let pairs = node.pairs().filter(|(key, _)| stays(**key));
    let pairs: Vec<_> = pairs.map(|(key, value)| (*key, value.clone())).collect();
    let count = pairs.len();
    if count == 0 {
        return side(outer, stays, of);
    }
    let outer = Map::from_root(outer.map(|node| node.keep())).insert_many(pairs);
    if count < node.len() {
        return outer;
    }
    outer.union(&side(inner, stays, of), |_, _, value| Some(value.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_range_goes_and_all_else_stays() {
        proptest::proptest!(|(count in 0_u64..3000, start in 0_u64..9000, len in 0_u64..9000)| {
            let whole: Map<u64, u64, 32> = (0..count).map(|number| (number * 3, number)).collect();
            let mut map = whole.clone();
            cut(&mut map, start..=start + len);
            map.invariant();
            let left: Vec<_> = map.into_iter().map(|(&key, &number)| (key, number)).collect();
            let stay = (0..count).map(|number| (number * 3, number));
            let stay: Vec<_> = stay.filter(|(key, _)| !(start..=start + len).contains(key)).collect();
            assert_eq!(left, stay);
            assert_eq!(whole.len(), count as usize);
        });
    }
}
