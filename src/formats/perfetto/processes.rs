//! Processes and threads, from their start to their exit.

use super::packets::Packets;
use super::proto::process_tree::{Process, Thread};
use super::proto::{ProcessTree, TracePacket};
use crate::formats::framework::tracks;
use crate::formats::framework::tracks::thread_name;
use crate::profile::timeline::ThreadLife;
use crate::profile::{Profile, Tables};
use perf_data::error::Result;

/// Writes the processes and threads of a profile: those that began before the recording first, and others when they began.
///
/// # Errors
/// Errors of the output.
pub(super) fn write(profile: &Profile, packets: &mut Packets<'_>) -> Result<()> {
    let tables = &*profile.tables;
    // ID 0 is that of the idle threads, which traces know.
    let threads = || tables.timeline.threads.iter().filter(|thread| thread.tid != 0);
    let mut before = ProcessTree::default();
    threads().filter(|thread| thread.start.is_none()).for_each(|thread| add(thread, tables, &mut before));
    packets.add_independent(Some(tracks::start(profile)), tree_packet(before))?;
    for (start, thread) in threads().filter_map(|thread| Some((thread.start?, thread))) {
        let mut tree = ProcessTree::default();
        add(thread, tables, &mut tree);
        packets.add_independent(Some(start), tree_packet(tree))?;
    }
    Ok(())
}

fn tree_packet(tree: ProcessTree) -> TracePacket {
    TracePacket { process_tree: Some(tree), ..TracePacket::default() }
}

fn add(thread: &ThreadLife, tables: &Tables, tree: &mut ProcessTree) {
    let (pid, tid) = (Some(thread.pid as i32), Some(thread.tid as i32));
    let name = thread_name(tables, thread);
    if thread.pid == thread.tid {
        tree.processes.push(Process {
            pid,
            cmdline: vec![name.clone()],
            process_start_from_boot: thread.start,
            cmdline_is_comm: Some(true),
        });
    }
    tree.threads.push(Thread { tid, name: Some(name), tgid: pid });
}
