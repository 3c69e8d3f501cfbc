//! Generic functions, closures, traits and iterators.

use std::collections::BTreeMap;
use std::fmt::Debug;

trait Wheel: Debug {
    fn turn(&mut self, by: u32) -> u32;
}

#[derive(Debug)]
struct Gear<const TEETH: u32>(u32);

#[derive(Debug)]
struct Pulley<T> {
    belts: Vec<T>,
}

impl<const TEETH: u32> Wheel for Gear<TEETH> {
    #[inline(never)]
    fn turn(&mut self, by: u32) -> u32 {
        self.0 = wrapped(self.0 + by, TEETH);
        self.0
    }
}

impl<T: Copy + Into<u64> + Debug> Wheel for Pulley<T> {
    fn turn(&mut self, by: u32) -> u32 {
        self.belts.iter().map(|&belt| belt.into()).filter(|belt| belt % 3 != 0).sum::<u64>() as u32 ^ by
    }
}

#[inline]
fn wrapped(value: u32, limit: u32) -> u32 {
    if value >= limit { value % limit } else { value }
}

#[inline(never)]
fn counts<'a>(words: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_default() += word.len());
    counts
}

mod nested {
    pub fn checked(text: &str) -> Option<u32> {
        text.strip_prefix("w")?.parse().ok().filter(|number| number % 2 == 0)
    }
}

fn main() {
    let mut wheels: Vec<Box<dyn Wheel>> =
        vec![Box::new(Gear::<12>(5)), Box::new(Gear::<40>(7)), Box::new(Pulley { belts: vec![1u8, 2, 3] })];
    let turned: u32 = wheels.iter_mut().enumerate().map(|(index, wheel)| wheel.turn(index as u32 * 31)).sum();
    let counts = counts("a bb a ccc".split(' '));
    println!("{turned} {counts:?} {:?} {wheels:?}", nested::checked("w42"));
}
