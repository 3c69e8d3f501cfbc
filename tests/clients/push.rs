//! `perfconv push`: requests are messages of the OpenTelemetry protocol.

use super::programs;
use crate::common::files::fixture;
use crate::common::push::convert;
use std::fs;

/// Prints attributes of the resource in a request.
const PRINT: &str = "import sys
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest
request = ExportProfilesServiceRequest.FromString(open(sys.argv[1], 'rb').read())
[resource] = request.resource_profiles
print({a.key: a.value.string_value for a in resource.resource.attributes if a.key in ('env', 'service.name')})";

#[test]
fn requests_are_messages_of_opentelemetry() {
    let Some(clients) = programs::directory() else { return };
    // The test `push` compares what a server receives with this.
    let options =
        ["--service-name", "checkout", "--resource-attribute", "env=a=b", "--timestamps", "--comm", "loop-pie"];
    let sent = convert(&fixture("callgraph.data"), "out.otlp", &options);
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), &sent).expect("a file");
    let printed = programs::python(clients, PRINT, &[file.path()]).expect("a request");
    assert_eq!(printed.trim(), "{'service.name': 'checkout', 'env': 'a=b'}");
}
