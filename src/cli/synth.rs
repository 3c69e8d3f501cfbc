//! `perfconv synth SCENARIO -o OUT`.

use super::args::SynthArgs;
use super::failure::Failure;
use super::merge::{form, told};
use super::output::{Allowed, Output};
use super::rewrite::Target;
use crate::abi::Endian;
use crate::container::read::Container;
use crate::error::Error;
use crate::formats::envelope::{Envelopes, strip};
use crate::stream::write::form::Form;
use crate::synth::Scenario;
use std::fs;
use std::process::ExitCode;

/// Makes a recording up.
///
/// # Errors
/// Where the scenario is none, or the recording or its programs cannot be written.
pub fn run(args: SynthArgs) -> Result<ExitCode, Failure> {
    let name = args.scenario.display().to_string();
    let text = fs::read_to_string(&args.scenario).map_err(Error::io(&name, "cannot read"))?;
    let mut scenario = Scenario::parse(&name, &text)?;
    if let Some(endian) = args.written.form.endian {
        scenario = scenario.on_machine_of(Endian::from(endian));
    }
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    let of_recording = Allowed {
        overwrite: args.force,
        on_terminal: false,
        folder: Some(|folder| folder.join("data").is_file()),
        is_folder: false,
    };
    let output = Output::check(&args.output, &args.scenario, of_recording)?;
    let of_images = Allowed { folder: Some(Scenario::is_of_images), is_folder: true, ..of_recording };
    let images = args.images.as_ref().map(|dir| Output::check(dir, &args.scenario, of_images)).transpose()?;
    let to = match (args.written.form.container, &output) {
        (Some(container), _) => container.into(),
        (None, Output::Stdout) => Container::Pipe,
        (None, _) => Container::File,
    };
    // It is made in its byte order, not made in another one and turned round; frames that the scenario tells stay.
    let form = match args.written.form.compress {
        Some(_) => Form { endian: None, ..form(&args.written) },
        None => Form::default(),
    };
    let (_, list) = strip(&args.output.to_string_lossy());
    let envelopes = Envelopes { list, level: None };
    let target =
        Target { to, form, output: &output, envelopes: &envelopes, spool_dir: args.written.spool_dir.as_deref() };
    let ledger = target.write(|sink| scenario.run(args.scale, sink))?;
    if let Some(images) = images {
        images.write_folder(|folder| scenario.write_images(folder))?;
    }
    Ok(told(&ledger, &output, &args.written))
}
