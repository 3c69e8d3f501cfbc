//! Texts of the manual pages: description, examples, files and environment of each command.

/// The parts of a page that arguments do not give.
pub(super) struct Page {
    /// Name of the command; `None` for the program.
    pub command: Option<&'static str>,
    /// Paragraphs.
    pub description: &'static [&'static str],
    /// What each example does, and its command line.
    pub examples: &'static [(&'static str, &'static str)],
    /// Lists of files: path and use.
    pub files: &'static [&'static [(&'static str, &'static str)]],
    /// Names of variables in [`ENVIRONMENT`].
    pub environment: &'static [&'static str],
    /// Commands whose pages are related.
    pub related: &'static [&'static str],
    /// The page of perf's command.
    pub perf: Option<&'static str>,
}

type Files = &'static [(&'static str, &'static str)];

const INPUT: Files = &[("perf.data", "The recording that is read if none is named.")];

const TEMPORARY: Files = &[(
    ".perfconv-*.tmp",
    "Incomplete outputs, next to the output, and temporary files in the system's directory for them or in that of \
     --spool-dir. They are removed when the program ends, also by a signal.",
)];

const OBJECTS: Files = &[
    ("~/.debug", "Build ID cache of perf: objects and debug files."),
    ("/usr/lib/debug", "Separate debug information, by build ID and by path; also vmlinux."),
    ("~/.cache/debuginfod_client", "Cache of debuginfod clients."),
    ("/tmp/perf-PID.map, /tmp/jit-PID.dump", "Functions of code that a process generated."),
    ("/proc/kallsyms", "Functions of the kernel, if the recorded kernel is running."),
];

/// Variables and their meaning.
pub(super) const ENVIRONMENT: &[(&str, &str)] = &[
    ("DEBUGINFOD_URLS", "Servers of --debuginfod, separated by spaces."),
    ("DEBUGINFOD_CACHE_PATH", "Cache of debuginfod clients, instead of ~/.cache/debuginfod_client."),
    ("DEBUGINFOD_TIMEOUT", "Seconds to wait for the answer of a server."),
    ("LC_ALL, LC_CTYPE, LANG", "Locale: trees are drawn in ASCII if its characters are not in UTF-8."),
    ("NO_COLOR", "If it is set and not empty, text is not colored."),
    ("PERFCONV_ERRORS", "With the value json, a failure is a line of JSON on standard error."),
    ("PERFCONV_PAGER, PAGER", "Pager of text on a terminal."),
    ("TMPDIR", "Directory for temporary files."),
];

const OF_OBJECTS: &[&str] =
    &["DEBUGINFOD_URLS", "DEBUGINFOD_CACHE_PATH", "DEBUGINFOD_TIMEOUT", "PERFCONV_ERRORS", "TMPDIR"];
const OF_TEXT: &[&str] = &[
    "DEBUGINFOD_URLS",
    "DEBUGINFOD_CACHE_PATH",
    "DEBUGINFOD_TIMEOUT",
    "LC_ALL, LC_CTYPE, LANG",
    "NO_COLOR",
    "PERFCONV_ERRORS",
    "PERFCONV_PAGER, PAGER",
    "TMPDIR",
];
const OF_RECORDINGS: &[&str] = &["PERFCONV_ERRORS", "TMPDIR"];

/// The page of the program and those of its commands.
pub(super) const PAGES: &[Page] = &[
    Page {
        command: None,
        description: &[
            "perfconv reads, converts, rewrites and checks recordings of perf record. Without a command, it converts the \
             input to the format that the extension of the output names; without an output, it summarizes the input.",
            "Functions, inlined functions and source lines are resolved without perf, from the object files and debug \
             information of the recorded machine.",
            "Every conversion reports on standard error how many samples and records it kept and dropped, and why. With \
             --strict, the exit status is 3 if anything was dropped.",
        ],
        examples: &[
            ("Summarize perf.data and suggest what to do next", "perfconv"),
            ("Convert to pprof, with functions and lines", "perfconv perf.data -o out.pb.gz"),
            ("Look at a recording in the browser", "perfconv view perf.data"),
            ("Convert a pipe", "perf record -g -o - ./app | perfconv - -o out.pb.gz"),
            (
                "Keep the samples of one program in part of the time",
                "perfconv perf.data --comm nginx --time 10%-50% -o nginx.data",
            ),
            ("Find how formats are named", "perfconv help formats"),
        ],
        files: &[INPUT, OBJECTS, TEMPORARY],
        environment: OF_TEXT,
        related: &[],
        perf: Some("perf-record"),
    },
    Page {
        command: Some("convert"),
        description: &[
            "Converts a recording, or a profile that can be imported, to another format. This is the default command: \
             'perfconv IN -o OUT' is the same.",
            "The format of the input is detected from its content; that of the output is given by its extension or by --to.",
        ],
        examples: &[
            ("Convert to pprof", "perfconv convert perf.data -o out.pb.gz"),
            (
                "Draw a flame graph, with the object files of another machine",
                "perfconv convert perf.data -o flame.svg --symfs files",
            ),
            (
                "Export every record, and convert back",
                "perfconv convert perf.data -o out.jsonl; perfconv convert out.jsonl -o copy.data",
            ),
            ("Convert many recordings at once", "perfconv convert *.data --out-dir profiles -J 4"),
            ("Print stacks as perf script does", "perfconv convert perf.data -t perf-script -F +srcline"),
        ],
        files: &[INPUT, OBJECTS, TEMPORARY],
        environment: OF_OBJECTS,
        related: &["rewrite", "report", "view"],
        perf: Some("perf-script"),
    },
    Page {
        command: Some("rewrite"),
        description: &[
            "Writes a perf.data from a recording: filtered, sorted, anonymized, with build IDs or JIT symbols, compressed or \
             not, or in another container or byte order. What no option changes is copied unchanged.",
        ],
        examples: &[
            (
                "Keep the samples of a program, compressed",
                "perfconv rewrite perf.data -o nginx.data --comm nginx --compress",
            ),
            (
                "Anonymize a recording before sharing it",
                "perfconv rewrite perf.data -o shared.data --anonymize --key key",
            ),
            ("Convert for an older perf", "perfconv rewrite perf.data -o old.data --perf-version 5.10"),
            ("Add build IDs", "perfconv rewrite perf.data -o with-ids.data -b"),
        ],
        files: &[INPUT, OBJECTS, TEMPORARY],
        environment: OF_OBJECTS,
        related: &["inject", "repair", "merge", "split"],
        perf: Some("perf-inject"),
    },
    Page {
        command: Some("repair"),
        description: &[
            "Writes a recording that perf reads from one that is truncated or corrupt, such as that of a killed perf record. \
             All records that can be read are kept.",
        ],
        examples: &[
            ("Repair a recording", "perfconv repair perf.data -o repaired.data"),
            ("Show what is damaged first", "perfconv check perf.data"),
        ],
        files: &[INPUT, TEMPORARY],
        environment: OF_RECORDINGS,
        related: &["check", "rewrite"],
        perf: Some("perf-record"),
    },
    Page {
        command: Some("inject"),
        description: &[
            "Takes the options of perf inject, and by default reads standard input and writes standard output. An option of \
             perf inject that is not supported is an error.",
        ],
        examples: &[
            ("Add build IDs to a pipe", "perf record -o - ./app | perfconv inject -b > with-ids.data"),
            ("Add the functions of JIT-compiled code", "perfconv inject --jit -i perf.data -o named.data"),
        ],
        files: &[OBJECTS, TEMPORARY],
        environment: OF_RECORDINGS,
        related: &["rewrite"],
        perf: Some("perf-inject"),
    },
    Page {
        command: Some("merge"),
        description: &[
            "Merges recordings of one machine, in time order. Events, features and mappings of all inputs are combined; a \
             difference that cannot be represented is an error or a warning.",
        ],
        examples: &[
            ("Merge two recordings", "perfconv merge one.data two.data -o both.data"),
            (
                "Merge recordings whose process IDs are unrelated",
                "perfconv merge one.data two.data -o both.data --offset-pids",
            ),
        ],
        files: &[TEMPORARY],
        environment: OF_RECORDINGS,
        related: &["split", "rewrite"],
        perf: Some("perf-record"),
    },
    Page {
        command: Some("split"),
        description: &[
            "Writes a directory with one recording for each part. Each part has the mappings and names of its processes, so \
             that it can be read by itself.",
        ],
        examples: &[
            ("Split into quarters of the time", "perfconv split perf.data --by time=25% -o parts"),
            ("Split by program", "perfconv split perf.data --by comm -o by-comm"),
        ],
        files: &[INPUT, TEMPORARY],
        environment: OF_RECORDINGS,
        related: &["merge", "rewrite"],
        perf: Some("perf-record"),
    },
    Page {
        command: Some("synth"),
        description: &[
            "Generates a recording from a scenario in TOML: events, programs with their functions, and processes with threads, \
             stacks and times. The same scenario and seed give the same bytes.",
        ],
        examples: &[
            ("Generate a recording", "perfconv synth app.toml -o app.data"),
            (
                "Generate a large one, with the programs as ELF files",
                "perfconv synth app.toml -o app.data --scale 100 --images images",
            ),
        ],
        files: &[TEMPORARY],
        environment: OF_RECORDINGS,
        related: &["check"],
        perf: Some("perf-record"),
    },
    Page {
        command: Some("archive"),
        description: &[
            "Packs a recording with the object files and debug files that its stacks need. All commands read the archive like \
             the recording, on any machine. --unpack extracts it for perf.",
        ],
        examples: &[
            ("Pack a recording", "perfconv archive perf.data -o crash.tar.zst"),
            ("Convert it on another machine", "perfconv crash.tar.zst -o out.pb.gz"),
            ("Unpack it for perf", "perfconv archive --unpack crash.tar.zst -o crash"),
        ],
        files: &[INPUT, OBJECTS, TEMPORARY],
        environment: OF_OBJECTS,
        related: &["convert", "report"],
        perf: Some("perf-archive"),
    },
    Page {
        command: Some("perf"),
        description: &[
            "Answers perf's commands script, report, diff, evlist, buildid-list, inject and data convert with perf's options, output and \
             exit status, for programs that call perf. Others are run by the perf that is next in PATH. The program does the same \
             if it is called perf; --install makes a link of that name.",
        ],
        examples: &[
            ("Print samples as text", "perfconv perf script -i perf.data -F comm,ip,sym"),
            ("Install a link named perf in a directory", "perfconv perf --install bin"),
        ],
        files: &[INPUT, OBJECTS],
        environment: OF_OBJECTS,
        related: &["convert", "rewrite"],
        perf: Some("perf-script"),
    },
    Page {
        command: Some("annotate"),
        description: &[
            "Prints the instructions of a function with their samples, below the source lines that they are from. Code is read from the \
             files that the names of functions are from, from jitdumps, and from the recording for BPF programs. What is missing is \
             reported with what to provide.",
        ],
        examples: &[
            ("Annotate a function", "perfconv annotate main perf.data"),
            ("Print its hottest lines", "perfconv annotate main --sort samples --context 2"),
            ("With sources elsewhere", "perfconv annotate main --symfs files --source-dir /build=src"),
        ],
        files: &[INPUT, OBJECTS],
        environment: OF_TEXT,
        related: &["report", "view"],
        perf: Some("perf-annotate"),
    },
    Page {
        command: Some("mcp"),
        description: &[
            "Answers questions about recordings by the Model Context Protocol, over standard input and output: a summary, functions, \
             callers, callees, lines, instructions, the tree of calls, and what changed since another recording. An answer is the JSON of report, \
             limited to a few kilobytes; it says how to ask for what follows.",
            "Only recordings that are named, or in the directory of --root, are read. Source files are read only with --source.",
        ],
        examples: &[
            ("Answer questions about a recording", "perfconv mcp perf.data"),
            ("About those in a directory, with their binaries", "perfconv mcp --root recordings -- --symfs files"),
        ],
        files: &[INPUT, OBJECTS],
        environment: OF_OBJECTS,
        related: &["report"],
        perf: None,
    },
    Page {
        command: Some("check"),
        description: &[
            "Reads every byte of recordings and reports errors, warnings and notes, each with a code, a record and an offset. \
             With --symbols, it reports which objects lack function names instead.",
        ],
        examples: &[
            ("Check a recording", "perfconv check perf.data"),
            ("Find out why functions are missing", "perfconv check --symbols perf.data --symfs files"),
        ],
        files: &[OBJECTS],
        environment: OF_OBJECTS,
        related: &["repair", "info"],
        perf: Some("perf-report"),
    },
    Page {
        command: Some("info"),
        description: &[
            "Prints what was recorded: machine, command, events, features, build IDs and counts, in perf's words.",
        ],
        examples: &[
            ("Print header and statistics", "perfconv info perf.data"),
            ("Print the events as JSON", "perfconv info perf.data --json | jq .events"),
        ],
        files: &[INPUT],
        environment: OF_RECORDINGS,
        related: &["dump", "check"],
        perf: Some("perf-report"),
    },
    Page {
        command: Some("dump"),
        description: &["Prints each record with its offset and its fields, in file order or in time order."],
        examples: &[
            ("Print the first samples", "perfconv dump perf.data --type SAMPLE --head 10"),
            ("Print the record at an offset, with its bytes", "perfconv dump perf.data --offset 0x1f80 --head 1 --raw"),
        ],
        files: &[INPUT],
        environment: OF_RECORDINGS,
        related: &["info", "check"],
        perf: Some("perf-script"),
    },
    Page {
        command: Some("report"),
        description: &[
            "Prints the functions with the most samples, in total and by themselves, by any of perf's sort keys; or the callers, \
             callees and lines of one function; or the tree of calls.",
            "With --diff, it prints how the shares of functions differ from those in another recording, and marks changes that can \
             be chance. With --fail-above and --fail-above-total, the exit status is 4 if a function or an event grew by more.",
        ],
        examples: &[
            ("Print the functions with the most samples", "perfconv report"),
            ("Print the callers and callees of a function", "perfconv report --symbol main"),
            ("Group by thread and source file", "perfconv report --sort comm,srcfile --limit 20"),
            ("Print the tree of calls", "perfconv report --tree"),
            ("Compare two recordings", "perfconv report new.data --diff old.data"),
            ("Write a table", "perfconv report --csv -o functions.csv"),
        ],
        files: &[INPUT, OBJECTS],
        environment: OF_TEXT,
        related: &["view", "convert"],
        perf: Some("perf-report"),
    },
    Page {
        command: Some("view"),
        description: &[
            "Writes a page with a flame graph, a heat map of time and a table of functions to a temporary directory, and opens \
             it in the browser. The page is one file; 'perfconv IN -o page.html' keeps it.",
            "With --serve, --port or --bind, the page is served until the program is interrupted, also to a browser at the other end \
             of ssh. With --firefox or --speedscope, the profile is served to the web page of these viewers.",
        ],
        examples: &[
            ("Show perf.data", "perfconv view"),
            ("Show the samples of one program", "perfconv view perf.data --comm nginx"),
            ("Show it in the Firefox Profiler", "perfconv view perf.data --firefox"),
        ],
        files: &[INPUT, OBJECTS],
        environment: OF_OBJECTS,
        related: &["report", "convert"],
        perf: Some("perf-report"),
    },
    #[cfg(feature = "push")]
    Page {
        command: Some("push"),
        description: &[
            "Converts a recording to a profile, and sends it to a server over HTTP: to Pyroscope or Parca in pprof format, or to a \
             receiver of OTLP. No other command sends data.",
            "A profile of Pyroscope or Parca without a time, of a recording that does not relate its clock to the wall clock, gets \
             the current time.",
        ],
        examples: &[
            ("Send perf.data to Pyroscope", "perfconv push pyroscope http://localhost:4040 --service-name checkout"),
            (
                "Send it to a collector, with a header from a file",
                "perfconv push otlp https://collector:4318 --service-name checkout --header @token",
            ),
            (
                "Send it to Parca with a label",
                "perfconv push parca http://localhost:7070 --service-name checkout --label region=eu",
            ),
        ],
        files: &[INPUT, OBJECTS],
        environment: OF_OBJECTS,
        related: &["convert"],
        perf: None,
    },
    Page {
        command: Some("diff"),
        description: &[
            "Prints how two recordings differ: header, features, events and records, by field. To compare where two programs \
             spend their time, use 'perfconv IN -o page.html --diff BASE'.",
        ],
        examples: &[
            ("Compare two recordings", "perfconv diff one.data two.data"),
            ("Compare the contents only", "perfconv diff one.data two.data --ignore offsets,form"),
        ],
        files: &[],
        environment: OF_RECORDINGS,
        related: &["dump", "check"],
        perf: Some("perf-diff"),
    },
    Page {
        command: Some("completions"),
        description: &[
            "Prints a script that completes commands, options and values in a shell. Values include the events, threads, \
             objects and features of the recording on the command line, or of perf.data; those of threads and objects are \
             from the first quarter of a second of reading it.",
            "The script runs the program for each completion. That for Nushell has commands, options and fixed values only.",
        ],
        examples: &[
            ("bash, in ~/.bashrc", "source <(perfconv completions bash)"),
            ("zsh, in ~/.zshrc, after compinit", "source <(perfconv completions zsh)"),
            ("fish", "perfconv completions fish > ~/.config/fish/completions/perfconv.fish"),
            ("Nushell", "perfconv completions nushell | save -f perfconv.nu"),
        ],
        files: &[&[
            ("/usr/share/bash-completion/completions/perfconv", "Script for bash."),
            ("/usr/share/zsh/vendor-completions/_perfconv", "Script for zsh."),
            ("/usr/share/fish/vendor_completions.d/perfconv.fish", "Script for fish."),
        ]],
        environment: &[],
        related: &["man", "help"],
        perf: None,
    },
    Page {
        command: Some("man"),
        description: &["Writes these manual pages to a directory, which is created if it does not exist."],
        examples: &[
            ("Install them for the user", "perfconv man ~/.local/share/man/man1"),
            ("Update them after an upgrade", "perfconv man -f ~/.local/share/man/man1"),
        ],
        files: &[&[("/usr/share/man/man1", "Manual pages of packages.")]],
        environment: &[],
        related: &["help", "completions"],
        perf: None,
    },
    Page {
        command: Some("help"),
        description: &["Prints the help of a command, the options of a format, or the table of formats."],
        examples: &[
            ("List the formats", "perfconv help formats"),
            ("Print the options of a format", "perfconv help pprof"),
            ("Print the options of a command", "perfconv help rewrite"),
        ],
        files: &[],
        environment: &[],
        related: &["man", "completions"],
        perf: None,
    },
];

/// The page of the program under the name perf_to_profile.
pub(super) const PERF_TO_PROFILE: Page = Page {
    command: Some("perf_to_profile"),
    description: &[
        "Converts a recording to a pprof profile as the program of that name does, which pprof runs to read a perf.data. It is \
         perfconv under another name: a link to it, or an alternative of the package.",
    ],
    examples: &[("Convert a recording", "perf_to_profile -i perf.data -o out.pb -f")],
    files: &[],
    environment: OF_RECORDINGS,
    related: &["convert"],
    perf: None,
};
