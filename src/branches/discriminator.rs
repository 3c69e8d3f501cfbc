//! Discriminators of LLVM: numbers in one word that distinguish blocks of code with the same line.
//!
//! Low bits first: the base discriminator, the factor by which the block was duplicated, and a number of the copy. A number is one bit,
//! 1, if it is 0; otherwise a 0 bit and 5 or, with another bit, 12 bits.

/// Low bits of a word that describes a pseudo probe.
const PROBE: u32 = 7;

/// Bit of a word that describes a pseudo probe and a base discriminator.
const HAS_BASE: u32 = 1 << 28;

/// Reads the number at the low end of a word.
fn first(word: u32) -> u32 {
    const LONG: u32 = 0x20;
    if word & 1 != 0 {
        return 0;
    }
    let number = word >> 1;
    if number & LONG == 0 { number & 0x1f } else { number >> 1 & 0xfe0 | number & 0x1f }
}

/// Removes the number at the low end of a word.
fn rest(word: u32) -> u32 {
    match word {
        _ if word & 1 != 0 => word >> 1,
        _ if word & 0x40 != 0 => word >> 14,
        _ => word >> 7,
    }
}

/// The base discriminator of a word. In functions with pseudo probes, that of the probe.
pub(super) fn base(word: u32) -> u32 {
    if word & PROBE == PROBE && word > PROBE {
        return if word & HAS_BASE == 0 { word >> 3 & 0xffff } else { word >> 16 & 7 };
    }
    first(word)
}

/// The number of the probe that a word describes.
pub(super) fn probe(word: u32) -> u32 {
    word >> 3 & if word & HAS_BASE == 0 { 0xffff } else { 0x1fff }
}

/// How often a block was duplicated: its copies are executed in turn.
pub(super) fn duplication(word: u32) -> u64 {
    first(rest(word)).max(1).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_a_base_and_a_factor() {
        assert_eq!((base(0), duplication(0)), (0, 1));
        // 2, as clang writes it: 2 << 1.
        assert_eq!((base(4), duplication(4)), (2, 1));
        // Base 0, factor 4: 1, then 4 << 1.
        assert_eq!((base(1 | 8 << 1), duplication(1 | 8 << 1)), (0, 4));
        // Base 3, factor 2.
        assert_eq!((base(6 | 4 << 7), duplication(6 | 4 << 7)), (3, 2));
        // A base of 12 bits: 0x65.
        let long = (0x65 & 0x1f | 0x20 | (0x65 & 0xfe0) << 1) << 1;
        assert_eq!((base(long), duplication(long | 6 << 14)), (0x65, 3));
        // Probe 5.
        assert_eq!((base(7 | 5 << 3), probe(7 | 5 << 3)), (5, 5));
        assert_eq!((base(7 | 5 << 3 | 3 << 16 | HAS_BASE), probe(7 | 5 << 3 | 3 << 16 | HAS_BASE)), (3, 5));
    }
}
