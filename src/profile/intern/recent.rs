//! A small cache of recent lookups.

/// A direct-mapped cache, sized to stay in the CPU caches.
#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    slots: Box<[Option<(K, V)>]>,
}

/// A key of [`Recent`].
pub(crate) trait RecentKey: Copy + Eq {
    /// A number that differs for most keys.
    fn number(&self) -> u64;
}

impl<K: RecentKey, V: Copy> Default for Recent<K, V> {
    fn default() -> Self {
        Self { slots: vec![None; 1 << Self::BITS].into() }
    }
}

impl<K: RecentKey, V: Copy> Recent<K, V> {
    const BITS: u32 = 13;

    /// The value of a key, if it is still cached.
    #[inline]
    pub(crate) fn get(&self, key: K) -> Option<V> {
        let (cached, value) = self.slots[Self::slot(key)]?;
        (cached == key).then_some(value)
    }

    /// Caches a value.
    #[inline]
    pub(crate) fn put(&mut self, key: K, value: V) {
        self.slots[Self::slot(key)] = Some((key, value));
    }

    #[inline]
    fn slot(key: K) -> usize {
        // An odd number without a pattern spreads the bits to the highest.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        (key.number().wrapping_mul(SPREAD) >> (64 - Self::BITS)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl RecentKey for (u64, char) {
        fn number(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn a_colliding_key_replaces_a_cached_one() {
        let mut recent = Recent::default();
        recent.put((0x40_1000, 'a'), 7);
        assert_eq!(recent.get((0x40_1000, 'a')), Some(7));
        assert_eq!((recent.get((0x40_1000, 'b')), recent.get((1, 'a'))), (None, None));
        recent.put((0x40_1000, 'b'), 8);
        assert_eq!((recent.get((0x40_1000, 'a')), recent.get((0x40_1000, 'b'))), (None, Some(8)));
    }
}
