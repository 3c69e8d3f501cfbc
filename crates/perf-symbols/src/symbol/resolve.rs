//! Resolves the addresses of many objects on several threads.

use super::Symbolizer;
use super::find::attempt::Attempt;
use super::object_cache::CachedObject;
use super::source::{ObjectKey, OpenedObject};
use super::symbols::{FrameTable, LookupAddress, Symbols};
use hashbrown::HashMap;
use perf_data::progress::{Task, Work};
use perf_data::threads::{in_order, workers};
use std::iter::repeat;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Addresses of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Offsets in the file: addresses in a process, minus the start of their mapping, plus its file offset.
    Offsets(Vec<u64>),
    /// Symbol addresses: of an object that is not relocated, of a kernel as recorded, of JIT code.
    Virtual(Vec<u64>),
}

impl Addresses {
    /// The addresses, ascending.
    pub fn list(&self) -> &[u64] {
        match self {
            Self::Offsets(list) | Self::Virtual(list) => list,
        }
    }
}

/// Addresses to resolve, in any order.
#[derive(Clone, Debug)]
pub struct Request {
    /// The object.
    pub key: ObjectKey,
    /// Addresses in it.
    pub addresses: Addresses,
    /// Whether each address is the last byte of a call: if it is in no function, the next one, to which the call returns, is looked
    /// up. False for addresses beyond its end.
    pub callers: Vec<bool>,
}

impl Request {
    /// A request for addresses that are no callers.
    pub fn new(key: ObjectKey, addresses: Addresses) -> Self {
        Self { key, addresses, callers: Vec::new() }
    }
}

/// Report on the resolution of an object.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ObjectReport {
    /// The object.
    pub key: ObjectKey,
    /// Number of unique addresses that were looked up.
    pub addresses: u64,
    /// Number of addresses whose function is known.
    pub with_function: u64,
    /// Number of addresses whose line is known.
    pub with_line: u64,
    /// Attempts to find its symbols and debug information, in order.
    pub attempts: Vec<Attempt>,
    /// Whether names are missing because they take more time or memory than the size of its files allows.
    pub exceeds_limit: bool,
}

/// Symbols of all requests, and a report on each object.
#[derive(Debug, Default)]
pub struct Resolved {
    /// The symbols.
    pub symbols: Symbols,
    /// A report on each object, in order of the first request for each.
    pub objects: Vec<ObjectReport>,
}

/// The requests of one object.
#[derive(Default)]
struct Group<'a> {
    requests: Vec<(usize, &'a Request)>,
}

/// An opened object, with its unique addresses in ascending order.
struct Opened {
    object: Option<Arc<dyn OpenedObject>>,
    attempts: Vec<Attempt>,
    /// Addresses to look up.
    addresses: Vec<LookupAddress>,
    /// For each request, the index of each of its addresses in `addresses`.
    indices: Vec<(usize, Vec<Option<u32>>)>,
}

/// A share of an object's addresses.
struct LookupPart {
    group: usize,
    opened: Arc<Opened>,
    range: Range<usize>,
    threads: usize,
}

/// Number of addresses after which progress is noted: at each one, the shared counter would take time.
const ADDRESSES_PER_STEP: usize = 256;

/// Minimum number of addresses for which reading an object's units once more is worthwhile.
const PART: usize = 4096;

impl Symbolizer {
    /// Resolves addresses. The result does not depend on the number of threads.
    pub fn resolve(&self, requests: &[Request]) -> Resolved {
        let threads = self.options.threads.map_or_else(workers, NonZeroUsize::get);
        let groups = grouped(requests);
        let mut opened = Vec::with_capacity(groups.len());
        let progress = &self.options.progress;
        {
            let task = progress.begin(Work::OpeningObjects, "", Some(groups.len() as u64));
            let open = |group: &Group<'_>| {
                let object = self.open(group);
                task.add(1);
                object
            };
            in_order(threads, &groups, open, |object| opened.push(Arc::new(object)));
        }
        let addresses = opened.iter().map(|object: &Arc<Opened>| object.addresses.len() as u64).sum();
        let task = progress.begin(Work::ResolvingAddresses, "", Some(addresses));
        let jobs: Vec<Mutex<Option<LookupPart>>> =
            parts(&opened, threads).into_iter().map(|part| Mutex::new(Some(part))).collect();
        let indices: Vec<_> = opened.iter().map(|opened| opened.indices.clone()).collect();
        let mut reports: Vec<_> = groups.iter().zip(&opened).map(|(group, opened)| report(group, opened)).collect();
        // From here on only the parts own the objects: each object is dropped with its last part.
        drop(opened);
        let mut tables: Vec<(usize, usize, FrameTable)> = Vec::with_capacity(jobs.len());
        let work = |job: &Mutex<Option<LookupPart>>| {
            let part = job.lock().unwrap_or_else(PoisonError::into_inner).take();
            part.map(|part| (part.group, part.range.start, self.look_up(&part, &task)))
        };
        in_order(threads, &jobs, work, |table| tables.extend(table));
        drop(task);
        tables.sort_by_key(|&(group, start, _)| (group, start));
        let mut whole = FrameTable::new(self.options.demangle);
        let mut firsts = vec![0; groups.len()];
        let mut last = None;
        for (group, _, table) in tables {
            if last != Some(group) {
                firsts[group] = whole.len() as u32;
                last = Some(group);
            }
            whole.append(&table);
            reports[group].exceeds_limit |= table.exceeds_limit;
        }
        let mut numbers: Vec<Vec<u32>> = vec![Vec::new(); requests.len()];
        for (first, (request, list)) in
            firsts.iter().zip(indices).flat_map(|(first, lists)| lists.into_iter().map(move |list| (first, list)))
        {
            numbers[request] = list.into_iter().map(|index| index.map_or(u32::MAX, |index| first + index)).collect();
        }
        let symbols = Symbols::new(whole, numbers);
        count(&symbols, &groups, &mut reports);
        Resolved { symbols, objects: reports }
    }

    fn open(&self, group: &Group<'_>) -> Opened {
        let key = group.requests.first().map(|(_, request)| &request.key);
        let (object, attempts) = key.map(|key| self.find(key)).unwrap_or_default();
        let converted = |request: &Request| -> Vec<Option<LookupAddress>> {
            let list = request.addresses.list();
            let Some(object) = &object else { return vec![None; list.len()] };
            let callers = request.callers.iter().copied().chain(repeat(false));
            let converted = list.iter().zip(callers).map(|(&address, is_caller)| {
                let address = match request.addresses {
                    Addresses::Offsets(_) => object.address_of_offset(address).or_else(|| {
                        // A segment can begin at the return address.
                        let start = is_caller.then(|| object.address_of_offset(address.wrapping_add(1)));
                        start.flatten()?.checked_sub(1)
                    }),
                    Addresses::Virtual(_) => Some(address),
                };
                address.map(|address| LookupAddress { address, is_caller })
            });
            converted.collect()
        };
        let lists: Vec<_> = group.requests.iter().map(|(number, request)| (*number, converted(request))).collect();
        let mut addresses: Vec<LookupAddress> = lists.iter().flat_map(|(_, list)| list).flatten().copied().collect();
        addresses.sort_unstable();
        addresses.dedup();
        // Indexes have 32 bits, of which all ones stands for an unknown address.
        addresses.truncate(u32::MAX as usize - 1);
        let index = |address: LookupAddress| addresses.binary_search(&address).ok().map(|index| index as u32);
        let indices = lists
            .into_iter()
            .map(|(number, list)| (number, list.into_iter().map(|address| address.and_then(index)).collect()));
        Opened { indices: indices.collect(), object, attempts, addresses }
    }

    /// Opens an object.
    pub(super) fn find(&self, key: &ObjectKey) -> CachedObject {
        let open = || {
            let mut attempts = Vec::new();
            let object = self.sources.iter().find_map(|source| source.open(key, &mut attempts));
            (object.map(Arc::from), attempts)
        };
        match &self.kept {
            Some(kept) => kept.get(key, open),
            None => open(),
        }
    }

    fn look_up(&self, part: &LookupPart, task: &Task) -> FrameTable {
        let addresses = &part.opened.addresses[part.range.clone()];
        let look_up = |object: &dyn OpenedObject| {
            let mut table = FrameTable::new(self.options.demangle);
            object.prepare(part.threads);
            object.with_lookup(&mut |lookup| {
                for some in addresses.chunks(ADDRESSES_PER_STEP) {
                    some.iter().for_each(|&address| table.look_up(lookup, address));
                    task.add(some.len() as u64);
                }
                table.exceeds_limit |= lookup.exceeds_limit();
            });
            table
        };
        let table = part.opened.object.as_ref().map(|object| look_up(&**object));
        let mut table = table.unwrap_or_else(|| FrameTable::new(self.options.demangle));
        // If a source offers no lookup, its addresses remain unknown.
        (table.len()..part.range.len()).for_each(|_| table.add_unknown());
        table
    }
}

/// Groups requests by object, in order of the first request for each.
fn grouped(requests: &[Request]) -> Vec<Group<'_>> {
    let (mut groups, mut numbers) = (Vec::<Group<'_>>::new(), HashMap::new());
    for (number, request) in requests.iter().enumerate() {
        let group = *numbers.entry(&request.key).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Group::default());
        }
        groups[group].requests.push((number, request));
    }
    groups
}

/// Splits the work into parts of about equal cost, largest first, so that no object keeps one thread busy while others wait.
fn parts(opened: &[Arc<Opened>], threads: usize) -> Vec<LookupPart> {
    /// Number of bytes of debug information that take as long to read as one lookup.
    const BYTES: u64 = 4096;
    let cost = |opened: &Opened| {
        let debug = opened.object.as_ref().map_or(0, |object| object.debug_size());
        opened.addresses.len() as u64 + if opened.addresses.is_empty() { 0 } else { debug / BYTES }
    };
    let costs: Vec<u64> = opened.iter().map(|opened| cost(opened)).collect();
    let share = costs.iter().sum::<u64>().div_ceil(threads.max(1) as u64).max(1);
    let mut parts = Vec::new();
    for (group, (opened, &cost)) in opened.iter().zip(&costs).enumerate() {
        let len = opened.addresses.len();
        let count = (cost.div_ceil(share) as usize).min(len / PART).clamp(1, threads.max(1));
        let size = len.div_ceil(count).max(1);
        for start in (0..len).step_by(size) {
            let range = start..len.min(start + size);
            let part = LookupPart { group, opened: Arc::clone(opened), range, threads };
            parts.push((cost / count as u64, part));
        }
    }
    parts.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
    parts.into_iter().map(|(_, part)| part).collect()
}

fn report(group: &Group<'_>, opened: &Opened) -> ObjectReport {
    let key = group.requests.first().map(|(_, request)| request.key.clone()).unwrap_or_default();
    let addresses = opened.addresses.len() as u64;
    ObjectReport { key, addresses, attempts: opened.attempts.clone(), ..ObjectReport::default() }
}

/// Counts the resolved addresses of each object, each as often as it is requested.
fn count(symbols: &Symbols, groups: &[Group<'_>], reports: &mut [ObjectReport]) {
    for (group, report) in groups.iter().zip(reports) {
        report.addresses = 0;
        for (number, request) in &group.requests {
            for index in 0..request.addresses.list().len() {
                let frames = symbols.frames(*number, index);
                report.addresses += 1;
                report.with_function += u64::from(frames.last().is_some_and(|frame| frame.function.is_some()));
                report.with_line += u64::from(frames.first().is_some_and(|frame| frame.line != 0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lookup::{FunctionFrame, Lookup};
    use super::super::source::Source;
    use super::super::{ObjectKey, Options};
    use super::*;

    #[derive(Debug)]
    struct Numbers;

    impl Source for Numbers {
        fn open(&self, key: &ObjectKey, _: &mut Vec<Attempt>) -> Option<Box<dyn OpenedObject>> {
            (key.path.to_str() != Some("none")).then(|| Box::new(Numbers) as Box<dyn OpenedObject>)
        }
    }

    impl OpenedObject for Numbers {
        fn address_of_offset(&self, offset: u64) -> Option<u64> {
            (offset != 13).then_some(offset + 1000)
        }

        fn with_lookup(&self, lookups: &mut dyn FnMut(&dyn Lookup)) {
            lookups(self);
        }
    }

    impl Lookup for Numbers {
        fn look_up(&self, address: u64, on_frame: &mut dyn FnMut(&FunctionFrame<'_>)) {
            on_frame(&FunctionFrame {
                name: (address / 10).to_string().as_bytes(),
                line: 1,
                ..FunctionFrame::default()
            });
        }
    }

    fn resolve(threads: usize, requests: &[Request]) -> (Vec<String>, Vec<ObjectReport>) {
        let options = Options { threads: NonZeroUsize::new(threads), ..Options::default() };
        let Resolved { symbols, objects } =
            Symbolizer::with_sources(options, vec![Arc::new(Numbers)]).resolve(requests);
        let mut names = vec![format!("{} functions", symbols.functions().len())];
        for (number, request) in requests.iter().enumerate() {
            for index in 0..request.addresses.list().len() {
                let frame = symbols.frames(number, index).first();
                let id = frame.and_then(|frame| frame.function);
                let name = id.map_or("?".to_owned(), |id| {
                    format!("{id} {}", String::from_utf8_lossy(symbols.name(symbols.function(id).unwrap().name)))
                });
                names.push(name);
            }
        }
        (names, objects)
    }

    #[test]
    fn addresses_keep_their_places() {
        let of =
            |path: &str, addresses| Request::new(ObjectKey { path: path.into(), ..ObjectKey::default() }, addresses);
        let requests = [
            of("a", Addresses::Offsets(vec![55, 13, 5, 55])),
            of("none", Addresses::Virtual(vec![1])),
            of("a", Addresses::Virtual(vec![1055])),
        ];
        let (names, reports) = resolve(2, &requests);
        assert_eq!(names, ["2 functions", "1 105", "?", "0 100", "1 105", "?", "1 105"]);
        let counts = |report: &ObjectReport| (report.addresses, report.with_function, report.with_line);
        assert_eq!(reports.iter().map(counts).collect::<Vec<_>>(), [(5, 4, 4), (1, 0, 0)]);
    }

    #[test]
    fn the_result_does_not_depend_on_threads() {
        let of = |path: &str, len: u64| {
            let addresses = (0..len).rev().map(|number| number * 7 % (len * 3)).collect();
            Request::new(ObjectKey { path: path.into(), ..ObjectKey::default() }, Addresses::Virtual(addresses))
        };
        let requests = [of("a", 10), of("b", 30_000), of("c", 0), of("d", 500)];
        let one = resolve(1, &requests).0;
        assert!([2, 3, 8].iter().all(|&threads| resolve(threads, &requests).0 == one));
    }
}
