//! Records in the order of time, by the whole recording: `--sort`.

use super::option::{Outputs, Parameter, PassOption, Place};
use super::pass::Pass;
use super::request::PassFactory;
use crate::container::read::ReadOptions;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::order::Order;
use crate::stream::raw::{Gap, Raw};

/// `--sort`.
const SORT: Parameter<()> = Parameter::flag("--sort");

/// The option of this pass.
pub const OPTIONS: &[PassOption] =
    &[PassOption::new(&SORT, Outputs::Records, "Records in the order of time, by the whole recording", |_| {
        Ok(PassFactory::new(|context| ByTimePass { options: context.read.clone() }))
    })
    .place(Place::AfterAnonymizing)];

/// The pass that sorts. Records of the same time stay in their order. What has no time stays behind all that stood before it,
/// the marks of rounds too: as nothing older comes behind a mark any more, perf reads them rightly.
#[derive(Debug, Default)]
pub struct ByTimePass {
    /// Where temporary files go, and how much is kept in memory.
    pub options: ReadOptions,
}

impl Pass for ByTimePass {
    fn name(&self) -> String {
        SORT.name().to_owned()
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(ByTime::new(sink, self.options.clone()))
    }
}

/// Puts records in the order of time, whatever their rounds say.
pub struct ByTime<S> {
    order: Order<S>,
    /// The newest time so far.
    newest: u64,
}

impl<S: Sink> ByTime<S> {
    /// Puts it before a sink. What waits beyond the [limits](ReadOptions::limits) goes to temporary files.
    pub fn new(sink: S, options: ReadOptions) -> Self {
        Self { order: Order::new(sink, options), newest: 0 }
    }

    /// The sink, to be looked at.
    pub fn sink(&self) -> &S {
        self.order.sink()
    }
}

impl<S: Sink> Sink for ByTime<S> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.order.begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match meta.events.time(raw) {
            Some(time) => {
                self.newest = self.newest.max(time);
                self.order.wait(time, raw)
            }
            None if self.newest == 0 => self.order.sink_mut().record(meta, raw),
            None => self.order.wait(self.newest, raw),
        }
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        self.order.gap(meta, gap)
    }

    fn is_done(&self) -> bool {
        self.order.is_done()
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.order.end(meta)
    }
}
