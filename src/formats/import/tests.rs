//! Profiles that tell what none would.

use super::place::Placed;
use super::told::{Told, ToldFrame, ToldMapping, ToldSample};
use super::{ImportOptions, Remade, record};
use crate::error::Result;
use crate::formats::import::told::ToldEvent;

/// A profile of one sample, with a stack of these frames.
fn of_frames(frames: Vec<ToldFrame>) -> Told {
    let mut told = Told { events: vec![ToldEvent { name: "x".to_owned(), ..ToldEvent::default() }], ..Told::default() };
    let stack: Vec<u32> = (0..frames.len() as u32).collect();
    told.frames = frames;
    told.samples.push(ToldSample { stack: told.stacks.id(&stack), value: 1, ..ToldSample::default() });
    told
}

fn made(told: Told) -> Result<Remade> {
    record("x", told, &ImportOptions::default())
}

#[test]
fn a_place_at_the_end_of_all_has_nothing_behind_it() {
    let mut told = Told::default();
    let name = told.names.id(b"foo");
    let vsyscall = ToldMapping { path: "[vsyscall]".into(), limit: u64::MAX, ..ToldMapping::default() };
    let frame = ToldFrame { mapping: Some(0), address: Some(u64::MAX - 1), ..ToldFrame::default() };
    let named = ToldFrame { address: Some(u64::MAX - 2), function: Some(name), ..frame };
    told = Told { mappings: vec![vsyscall], names: told.names, as_recorded: true, ..of_frames(vec![frame, named]) };
    let placed = Placed::new(&told, "x");
    assert_eq!(placed.moved, 1, "no file has room for it");
    assert!(placed.maps[1].pgoff >= 1 << 60, "what is made up is behind all that is told");
    made(told).unwrap();
}

#[test]
fn a_copy_of_a_map_for_which_there_is_no_room_is_not_used() {
    let mapping = |path: &'static str| ToldMapping { path: path.into(), limit: u64::MAX, ..ToldMapping::default() };
    let frame = |mapping| ToldFrame { mapping: Some(mapping), address: Some(u64::MAX - 1), ..ToldFrame::default() };
    let told = Told { mappings: vec![mapping("/a"), mapping("/b")], ..of_frames(vec![frame(0), frame(1)]) };
    made(told).unwrap();
}

/// If all lines of the function were compared for each of its frames, this would take minutes.
#[test]
fn a_function_has_many_lines() {
    const MANY: u32 = 400_000;
    let mut names = crate::session::slices::Slices::default();
    let (function, path) = (Some(names.id(b"f")), names.id(b"f.c"));
    let frames = (0..MANY).map(|line| ToldFrame { function, line: Some((path, line)), ..ToldFrame::default() });
    let mut told = of_frames(frames.collect());
    told.names = names;
    let placed = Placed::new(&told, "x");
    let addresses: Vec<_> = placed.frames.iter().map(|frame| frame.address).collect();
    assert!(addresses.windows(2).all(|two| two[0] + 4 == two[1]));
}
