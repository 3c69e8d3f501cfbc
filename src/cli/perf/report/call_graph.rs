//! `--call-graph` of `perf report`.

use crate::cli::failure::Failure;
use crate::cli::perf::option::Given;
use perfconv::formats::report::perf::{ChainOptions, ChainStyle};

/// How call chains are shown; `None` if they are not.
///
/// # Errors
/// If a value is unknown, or is not answered.
pub(super) fn call_graph(given: &Given, has_children: bool) -> Result<Option<ChainOptions>, Failure> {
    let mut options = ChainOptions { style: ChainStyle::Graph, is_caller_first: has_children, min_percent: 0.5 };
    let mut is_shown = !given.is_negated("call-graph");
    let mut numbers = 0;
    for value in values(&text(given)) {
        match value {
            "none" => is_shown = false,
            "graph" => options.style = ChainStyle::Graph,
            "fractal" => return Err(refused(value, "use 'graph', whose shares are of all samples")),
            "flat" => options.style = ChainStyle::Flat,
            "folded" => options.style = ChainStyle::Folded,
            "caller" => options.is_caller_first = true,
            "callee" => options.is_caller_first = false,
            "function" | "percent" => {}
            "address" => return Err(refused(value, "calls are added up by function; use the real perf")),
            "branch" => return Err(refused(value, "branch stacks are not joined to call chains; use the real perf")),
            "period" | "count" => return Err(refused(value, "shares are in percent")),
            _ => match value.parse::<f64>() {
                Ok(min) if numbers == 0 && (0.0..=100.0).contains(&min) => {
                    numbers += 1;
                    options.min_percent = min;
                }
                Ok(0.0) if numbers == 1 => numbers += 1,
                Ok(_) if numbers == 1 => {
                    return Err(refused(value, "call chains are not limited to a number of calls"));
                }
                _ => return Err(Failure::Usage(format!("perf report: --call-graph: unknown value '{value}'"))),
            },
        }
    }
    if given.has("inverted") {
        options.is_caller_first = true;
    }
    Ok(is_shown.then_some(options))
}

/// Whether the option gives the share of calls that are shown.
pub(super) fn has_percent(given: &Given) -> bool {
    values(&text(given)).any(|value| value.parse::<f64>().is_ok())
}

/// The value of the option; without one, it is that of perf's help.
fn text(given: &Given) -> String {
    let text = given.text("call-graph").unwrap_or_default();
    if text.is_empty() && given.has("call-graph") { "graph,0.5,caller,function,percent".to_owned() } else { text }
}

fn values(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ' ']).filter(|value| !value.is_empty())
}

fn refused(value: &str, reason: &str) -> Failure {
    Failure::Usage(format!("perf report: --call-graph '{value}' is not supported: {reason}"))
}
