//! What `perf data convert --to-json` writes, for the programs that read it: samples with their stacks, and nothing of the
//! other records.
//!
//! ```json
//! {"linux-perf-json-version":1,
//! "headers":{"header-version":1, ..., "cmdline":["perf", "record", "./app"]},
//! "samples":[
//! {"timestamp":1806624218527,"pid":17,"tid":17,"comm":"app","callchain":[{"ip":"0x7fa6cd25869e"}]}
//! ]}
//! ```
//!
//! What perf leaves out stands in further fields: of a sample `event`, `cpumode`, `period`, `addr`, `weight`, `data_src`
//! and `branch_stack`, and of each frame `dso` and `build_id`. [`exact`](super::carry::CarryOptions::exact) leaves them out.
//! There are no symbols yet, and where perf finds no symbol it tells no `dso` either.
//!
//! Fields of tracepoints are texts, as perf has them. perf writes a name twice where a field is called as one of the
//! sample's own (`pid`); here it is `_pid` then, but for `exact`.

mod export;
mod text;

use crate::container::read::ReadOptions;
use crate::error::Result;
use crate::formats::carry::{Carry, CarryOptions};
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::order::Order;
use crate::stream::raw::{Gap, Raw};
use export::Export;
use std::io::{BufWriter, Write};

/// Begins a recording as perf's own JSON.
pub fn begin<'a>(out: &'a mut dyn Write, options: &CarryOptions) -> Box<dyn Carry + 'a> {
    let export = Export::new(BufWriter::with_capacity(1 << 17, out), options.exact);
    let read = ReadOptions { spool_dir: options.spool_dir.clone(), ..ReadOptions::default() };
    Box::new(InTime(Order::new(export, read)))
}

/// Samples are told in the order of time.
struct InTime<W: Write>(Order<Export<W>>);

impl<W: Write> Carry for InTime<W> {
    fn account(&self, ledger: &mut Ledger) {
        ledger.account_for_stream();
        ledger.merge(self.0.sink().ledger().clone());
    }
}

impl<W: Write> Sink for InTime<W> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.0.begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.0.record(meta, raw)
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        self.0.gap(meta, gap)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.0.end(meta)
    }
}
