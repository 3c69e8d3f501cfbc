//! Values of the registers of a frame.

/// Number of slots: columns 0 to 31, and one for a return address column beyond these.
const SLOTS: usize = 33;

/// Index of a register in [`Registers`].
pub type Slot = u8;

/// The slot of a return address column of 32 or more, which no other register has.
pub const RETURN_SLOT: Slot = 32;

/// Registers of a frame, as far as they are known.
#[derive(Clone, Debug)]
pub struct Registers {
    values: [u64; SLOTS],
    /// A bit for each known slot.
    known_slots: u64,
}

impl Default for Registers {
    fn default() -> Self {
        Self { values: [0; SLOTS], known_slots: 0 }
    }
}

impl Registers {
    /// The value of a register, if known.
    #[inline]
    pub fn get(&self, slot: Slot) -> Option<u64> {
        let value = self.values.get(usize::from(slot))?;
        (self.known_slots >> slot & 1 == 1).then_some(*value)
    }

    /// Sets a register; its value is unknown if `None`.
    #[inline]
    pub fn set(&mut self, slot: Slot, value: Option<u64>) {
        let Some(register) = self.values.get_mut(usize::from(slot)) else { return };
        match value {
            Some(value) => {
                *register = value;
                self.known_slots |= 1 << slot;
            }
            None => self.known_slots &= !(1 << slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_registers_are_unknown() {
        let mut registers = Registers::default();
        registers.set(RETURN_SLOT, Some(7));
        registers.set(3, Some(9));
        registers.set(3, None);
        registers.set(200, Some(1));
        assert_eq!((registers.get(RETURN_SLOT), registers.get(3), registers.get(200)), (Some(7), None, None));
    }
}
