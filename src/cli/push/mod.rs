//! `perfconv push`: sends the profile of a recording to a server. Nothing else in the program sends data.

mod grpc_web;
mod http;
mod messages;

use super::args::{PushArgs, ServerArg};
use super::convert::Conversion;
use super::failure::Failure;
use super::report::print_message;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{Client, HttpHeader, Request};
use messages::{ExportResponse, Label, TIME_NANOS, has_field, with_time};
use perf_data::container::temp_directory::private;
use prost::Message;
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// Label with the type of a profile.
const PROFILE_NAME: &str = "__name__";

/// Its value, unless another is given: that of CPU profiles.
const CPU_PROFILE: &str = "process_cpu";

/// Sends the profile of a recording.
///
/// # Errors
/// If the arguments are invalid, the recording cannot be read, or the server does not accept the profile.
pub(super) fn run(args: PushArgs) -> Result<ExitCode, Failure> {
    if args.timestamps && args.server != ServerArg::Otlp {
        return Err(Failure::Usage("--timestamps applies to otlp; pyroscope and parca receive pprof".to_owned()));
    }
    let client = Client::new(args.retries, args.quiet);
    let url = http::endpoint(&args.url, path(args.server))?;
    let headers = http::headers(&args.headers)?;
    let (server, labels, input, address) = (args.server, labels(&args), args.input(), args.url.clone());

    let failed = |error: io::Error| Failure::Failed(format!("temporary file: {error}"));
    let directory = private().prefix("perfconv-push-").suffix("").tempdir().map_err(failed)?;
    let output = directory.path().join(if server == ServerArg::Otlp { "profile.otlp" } else { "profile.pb" });
    let conversion_args = args.conversion(output.clone());
    let conversion = Conversion::new(&conversion_args, &output)?;
    let converted = conversion.convert(&conversion_args, input, &output)?.named(address);
    let profile = fs::read(&output).map_err(failed)?;

    let failed = |problem: String| Failure::Failed(format!("{url}: {problem}"));
    if !converted.has_samples() {
        return Err(failed("not sent: the recording has no samples".to_owned()));
    }
    let request = |kind: &[HttpHeader], body| Request { url: &url, headers: [kind, &headers].concat(), body };
    match server {
        ServerArg::Pyroscope => {
            let body = messages::pyroscope(labels, pprof(profile)?);
            client.post(&request(&[("Content-Type", "application/proto").into()], body))?;
        }
        ServerArg::Parca => {
            let body = grpc_web::frame(&messages::parca(labels, pprof(profile)?));
            let answer = client.post(&request(&grpc_web::headers(), body))?;
            grpc_web::check(&answer).map_err(failed)?;
        }
        ServerArg::Otlp => {
            let kind = [("Content-Type", "application/x-protobuf"), ("Content-Encoding", "gzip")].map(HttpHeader::from);
            let answer = client.post(&request(&kind, gzip(&[&profile])?))?;
            // The status already says that the server accepted the profile; a body in another form says nothing more.
            let ExportResponse { partial_success } = ExportResponse::decode(&*answer.body).unwrap_or_default();
            let partial = partial_success.unwrap_or_default();
            if partial.rejected_profiles > 0 {
                return Err(failed(format!(
                    "{} profiles rejected: {}",
                    partial.rejected_profiles, partial.error_message
                )));
            }
            if !partial.error_message.is_empty() && !conversion_args.quiet {
                print_message(format_args!("perfconv: warning: {url}: {}", partial.error_message));
            }
        }
    }
    Ok(ExitCode::from(converted.report(&conversion_args)))
}

/// The path of a server's endpoint below its address.
fn path(server: ServerArg) -> &'static str {
    match server {
        ServerArg::Pyroscope => "push.v1.PusherService/Push",
        ServerArg::Parca => "parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
        ServerArg::Otlp => "v1development/profiles",
    }
}

/// The labels of a profile in pprof format.
fn labels(args: &PushArgs) -> Vec<Label> {
    let mut labels: Vec<_> = args.labels.iter().map(|(name, value)| Label::new(name, value)).collect();
    for (name, value) in [("service_name", &*args.service_name), (PROFILE_NAME, CPU_PROFILE)] {
        if labels.iter().all(|label| label.name != name) {
            labels.push(Label::new(name, value));
        }
    }
    labels
}

/// A profile in pprof format, compressed. Without a time of its own it gets the current one: servers would take it for one of 1970.
fn pprof(profile: Vec<u8>) -> Result<Vec<u8>, Failure> {
    if has_field(&profile, TIME_NANOS) {
        return gzip(&[&profile]);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    gzip(&[&profile, &with_time(now.as_nanos() as u64)])
}

fn gzip(parts: &[&[u8]]) -> Result<Vec<u8>, Failure> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = parts.iter().try_for_each(|part| encoder.write_all(part));
    written.and_then(|()| encoder.finish()).map_err(|error| Failure::Failed(error.to_string()))
}
