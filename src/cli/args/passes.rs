//! Options of rewrite passes, in command-line order.

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use perfconv::rewrite::build_ids::find::FindOptions;
use perfconv::rewrite::framework::pass_options::{ObjectUse, PassOptions, RequestedPass, in_order, requested};
use perfconv::rewrite::framework::pass_type::{PassType, Request, Setting, flag, is_given};
use perfconv::rewrite::registry::{ANONYMIZING, BUILD_IDS, FILTERS, PASSES, PassTable, SETTINGS, TRACES};

/// The requested passes, in the order in which they run.
#[derive(Debug, Default)]
pub(crate) struct PassArgs {
    /// The requests.
    pub list: Vec<Request>,
    /// Where the files of the recording are searched.
    pub find: FindOptions,
    /// The first setting that only the search for symbols can use.
    pub only_for_symbols: Option<Setting>,
}

impl PassArgs {
    /// The passes that the options of a table request.
    ///
    /// # Errors
    /// If the options cannot be combined.
    pub(crate) fn from_table(matches: &ArgMatches, table: PassTable<'_>) -> Result<Self, clap::Error> {
        let mut only_for_symbols = None;
        for setting in SETTINGS.iter().filter(|setting| is_given(matches, setting.id)) {
            if setting.passes.iter().any(|pass| is_given(matches, pass)) {
                continue;
            }
            if !setting.is_for_symbols {
                return Err(conflict(format!("{} requires {}", flag(setting.id), flags(setting))));
            }
            only_for_symbols.get_or_insert(*setting);
        }
        let mut list = Vec::new();
        for pass in passes(table) {
            list.extend(pass.requests(matches)?);
        }
        list.sort_by_key(|(index, _)| *index);
        let list = ordered(list.into_iter().map(|(_, request)| request).collect())?;
        let find = find_options(matches)?;
        Ok(Self { list, find, only_for_symbols })
    }

    /// The requested passes.
    pub(crate) fn passes(&self) -> Vec<RequestedPass> {
        self.list.iter().map(|request| request.pass.clone()).collect()
    }

    /// The requested passes that read object files, with the purpose.
    pub(crate) fn using_objects(&self) -> impl Iterator<Item = (&Request, ObjectUse)> {
        let uses = self.list.iter().map(|request| (request, request.pass.object_use()));
        uses.filter(|(_, object_use)| *object_use != ObjectUse::None)
    }

    /// Whether a pass of this type is requested.
    pub(crate) fn has<T: PassOptions>(&self) -> bool {
        requested::<T>(&self.passes()).next().is_some()
    }
}

/// The flags of the passes that a setting refines, of which it needs one.
pub(crate) fn flags(setting: &Setting) -> String {
    setting.passes.iter().map(|id| flag(id)).collect::<Vec<_>>().join(" or ")
}

/// The requests in the order in which their passes run.
fn ordered(list: Vec<Request>) -> Result<Vec<Request>, clap::Error> {
    let flags: Vec<_> = list.iter().map(|request| request.flag.clone()).collect();
    let passes = list.iter().map(|request| request.pass.clone()).collect();
    let passes = in_order(passes).map_err(|index| {
        let flag = &flags[index];
        conflict(format!(
            "{flag} cannot be used with --anonymize, since the images that it writes contain function names"
        ))
    })?;
    let mut list: Vec<_> = list.into_iter().map(Some).collect();
    // `in_order` returns only the passes: their addresses identify the requests.
    let is_same = |request: &Option<Request>, pass: &RequestedPass| {
        request.as_ref().is_some_and(|request| std::sync::Arc::ptr_eq(&request.pass, pass))
    };
    let taken = passes.iter().filter_map(|pass| list.iter_mut().find(|request| is_same(request, pass))?.take());
    Ok(taken.collect())
}

pub(crate) fn conflict(message: String) -> clap::Error {
    clap::Error::raw(ErrorKind::ArgumentConflict, message)
}

/// Where the files of the recording are searched, if the command has these options.
fn find_options(matches: &ArgMatches) -> Result<FindOptions, clap::Error> {
    match matches.try_contains_id("symfs") {
        Ok(_) => FindOptions::from_arg_matches(matches),
        Err(_) => Ok(FindOptions::default()),
    }
}

impl Args for PassArgs {
    fn augment_args(command: Command) -> Command {
        with_passes(command, PASSES)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for PassArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::from_table(matches, PASSES)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The passes of commands that only read: filters, and what determines samples and symbols.
#[derive(Debug, Default)]
pub(crate) struct ReadingPasses(pub PassArgs);

impl ReadingPasses {
    fn table() -> Vec<(&'static str, &'static [PassType])> {
        PASSES
            .iter()
            .copied()
            .filter(|(heading, _)| [FILTERS, TRACES, BUILD_IDS, ANONYMIZING].contains(heading))
            .collect()
    }
}

impl Args for ReadingPasses {
    fn augment_args(command: Command) -> Command {
        let table = Self::table();
        with_passes(command, &table).mut_args(|argument| {
            let id = argument.get_id().clone();
            let is_for_records = passes(&table).any(|pass| pass.is_for_records(id.as_str()));
            argument.hide(is_for_records)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ReadingPasses {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        PassArgs::from_table(matches, &Self::table()).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn passes<'a>(table: PassTable<'a>) -> impl Iterator<Item = &'a PassType> {
    table.iter().flat_map(|(_, passes)| *passes)
}

/// Adds the arguments of a table of passes to a command, each once: those that several passes have follow all of these.
pub(super) fn with_passes(command: Command, table: PassTable<'_>) -> Command {
    let mut added: Vec<Arg> = Vec::new();
    for (heading, passes) in table {
        let mut arguments: Vec<_> = passes.iter().flat_map(PassType::arguments).collect();
        let ids: Vec<_> = arguments.iter().map(|argument| argument.get_id().clone()).collect();
        let is_shared = |argument: &Arg| {
            let id = argument.get_id();
            ids.iter().filter(|other| *other == id).count() > 1 && passes.iter().all(|pass| pass.id() != id)
        };
        arguments.sort_by_key(is_shared);
        for argument in arguments {
            if added.iter().all(|other| other.get_id() != argument.get_id()) {
                added.push(argument.help_heading(*heading).display_order(clap::builder::Resettable::Reset));
            }
        }
    }
    command.args(added)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::container::read::ReadOptions;
    use perf_data::container::read::input::Input;
    use perf_data::error::Result;
    use perf_data::stream::Sink;
    use perf_data::stream::meta::Meta;
    use perf_data::stream::raw::Raw;
    use perfconv::rewrite::framework::pass::Pass;
    use perfconv::rewrite::framework::pass_options::PassContext;
    use perfconv::rewrite::framework::passes::Passes;
    use perfconv::rewrite::framework::record_function::RecordFunction;
    use std::collections::BTreeSet;

    /// Drops records of one size.
    #[derive(Clone, Debug, Args)]
    struct WithoutSize {
        /// Drop records of this size.
        #[arg(long, value_name = "BYTES")]
        without_size: u16,
    }

    impl PassOptions for WithoutSize {
        fn pass(&self, _: &PassContext) -> Box<dyn Pass> {
            Box::new(WithoutSizePass(self.without_size))
        }
    }

    struct WithoutSizePass(u16);

    impl Pass for WithoutSizePass {
        fn name(&self) -> String {
            "--without-size".to_owned()
        }

        fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
            Box::new(RecordFunction::new(sink, |meta, raw, sink| {
                if raw.header().size == self.0 { Ok(()) } else { sink.record(meta, raw) }
            }))
        }
    }

    const SIZES: &[PassType] = &[PassType::with_options::<WithoutSize>("without_size").for_records(&["without_size"])];

    fn table() -> Vec<(&'static str, &'static [PassType])> {
        [PASSES, &[("Sizes", SIZES)]].concat()
    }

    fn parsed(args: &[&str]) -> std::result::Result<Vec<Request>, clap::Error> {
        let command = with_passes(Command::new("test").no_binary_name(true), &table());
        Ok(PassArgs::from_table(&command.try_get_matches_from(args)?, &table())?.list)
    }

    fn requested_flags(args: &[&str]) -> Vec<String> {
        parsed(args).unwrap().into_iter().map(|request| request.flag).collect()
    }

    #[derive(Default)]
    struct Sizes(BTreeSet<u16>);

    impl Sink for Sizes {
        fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> Result<()> {
            self.0.insert(raw.header().size);
            Ok(())
        }
    }

    fn sizes(requests: &[Request]) -> BTreeSet<u16> {
        let mut passes = Passes::default();
        requests.iter().for_each(|request| passes.push_boxed(request.pass.pass(&PassContext::default())));
        let mut sizes = Sizes::default();
        let input = Input::Path("roundtrip/fixtures/plain.data".into());
        passes.run(input, &ReadOptions::default(), &mut sizes).unwrap();
        sizes.0
    }

    #[test]
    fn offers_and_applies_a_pass_registered_by_one_line() {
        let help = with_passes(Command::new("test"), &table()).render_help().to_string();
        assert!(help.contains("--without-size <BYTES>") && help.contains("Drop records of this size"), "{help}");
        let all = sizes(&[]);
        let size = *all.first().unwrap();
        let requests = parsed(&["--without-size", &size.to_string()]).unwrap();
        assert_eq!(
            (&*requests[0].flag, requests[0].for_records.as_deref()),
            ("--without-size", Some("--without-size"))
        );
        assert_eq!(sizes(&requests), all.into_iter().filter(|other| *other != size).collect());
        let error = parsed(&["--without-size", "x"]).unwrap_err().to_string();
        assert!(error.contains("invalid value 'x' for '--without-size <BYTES>'"), "{error}");
    }

    #[test]
    fn passes_run_in_the_order_of_their_options() {
        assert_eq!(
            requested_flags(&["--sort", "--without-size", "8", "--head", "1"]),
            ["--sort", "--without-size", "--head"]
        );
        assert_eq!(requested_flags(&["--pid", "1", "--head", "1", "--pid", "2"]), ["--pid", "--head"]);
        assert_eq!(
            requested_flags(&["--set", "hostname=a", "--head", "1", "--set", "arch=b"]),
            ["--set", "--head", "--set"]
        );
        // Passes that could disclose something run before anonymization.
        assert_eq!(requested_flags(&["--sort", "--anonymize", "--head", "1"]), ["--head", "--anonymize", "--sort"]);
    }

    #[test]
    fn rejects_a_setting_without_the_option_that_it_refines() {
        for (args, expected) in [
            (&["--keep-attrs"][..], "--keep-attrs requires --event"),
            (&["--jit-dir", "src"], "--jit-dir requires --jit or --perf-map"),
            (&["--head", "1", "--keep", "raw"], "--keep requires --anonymize"),
        ] {
            let error = parsed(args).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn settings_refine_passes_of_the_table() {
        let command = with_passes(Command::new("test"), PASSES);
        let has = |id: &str| command.get_arguments().any(|argument| argument.get_id() == id);
        let types: BTreeSet<_> = passes(PASSES).map(PassType::id).collect();
        assert_eq!(types.len(), passes(PASSES).count(), "two passes are requested by the same argument");
        for pass in passes(PASSES) {
            assert!(has(pass.id()), "{}", pass.id());
        }
        for Setting { id, passes, .. } in SETTINGS {
            assert!(has(id) && passes.iter().all(|pass| types.contains(pass)), "{id}");
        }
    }
}
