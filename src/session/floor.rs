//! What stands at a place in a map, or last before it.

use immutable_chunkmap::map::Map;

/// The last pair up to a key. It takes as long as the tree is deep: the map's own ranges go from their bound to their end for it.
#[inline]
pub fn floor<V: Clone, const SIZE: usize>(map: &Map<u64, V, SIZE>, key: u64) -> Option<(u64, &V)> {
    let (mut node, mut found) = (map.root(), None);
    // It is in the last node that begins there or before.
    while let Some(at) = node {
        let is_behind = at.pairs().next().is_none_or(|(first, _)| *first > key);
        node = if is_behind {
            at.left()
        } else {
            let behind = at.right();
            found = Some(at);
            behind
        };
    }
    let pairs = found?.pairs().take_while(|(first, _)| **first <= key);
    pairs.last().map(|(first, value)| (*first, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_a_range_ends_with() {
        proptest::proptest!(|(count in 0_u64..3000, keys: [u16; 20])| {
            let map: Map<u64, u64, 32> = (0..count).map(|number| (7 + number * 3, number)).collect();
            for key in keys.into_iter().map(u64::from).chain([0, 6, 7, u64::MAX]) {
                let expected = map.range(..=key).next_back().map(|(&key, value)| (key, value));
                assert_eq!(floor(&map, key), expected);
            }
        });
    }

    #[test]
    fn many_take_hardly_longer_than_few() {
        let map: Map<u64, u64, 32> = (0..400_000).map(|number| (number, number)).collect();
        // One after the other from the bound to the end these would be 80 thousand million steps.
        for key in 0..400_000 {
            assert_eq!(floor(&map, key), Some((key, &key)));
        }
    }
}
