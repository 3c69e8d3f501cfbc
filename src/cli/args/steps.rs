//! Steps of a rewrite, in the order in which they are said.

use super::anonymize::AnonymizeArgs;
use super::build_ids::FindArgs;
use super::jit::JitArgs;
use super::step::Step;
use super::step_args::{IDS, StepArgs};
use crate::rewrite::header_edits::HeaderEdit;
use crate::rewrite::jit::images::ImageOptions;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// All steps, in the order in which they are said.
#[derive(Debug, Default)]
pub struct Steps {
    /// The steps.
    pub list: Vec<Step>,
}

impl Steps {
    /// The events that are asked for.
    pub fn events(&self) -> Vec<String> {
        let of_step = |step: &Step| match step {
            Step::Event { names, .. } => Some(names.clone()),
            _ => None,
        };
        self.list.iter().find_map(of_step).unwrap_or_default()
    }

    /// With build ids looked for there.
    ///
    /// # Errors
    /// Where it is said where to look, and no step looks for any.
    pub fn looking(mut self, find: FindArgs) -> Result<Self, clap::Error> {
        let given = find.first_given();
        let mut wanted = self.list.iter_mut().filter_map(|step| match step {
            Step::BuildIdTable(_, find) | Step::BuildIdMaps(_, find) => Some(find),
            _ => None,
        });
        match (wanted.next(), given) {
            (None, Some(option)) => {
                let message =
                    format!("{option} is for --build-ids, --buildid-all, --mmap2-buildids, --mmap2-buildid-all");
                return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, message));
            }
            (None, None) => {}
            (Some(first), _) => {
                let options = find.options();
                wanted.for_each(|find| find.clone_from(&options));
                *first = options;
            }
        }
        Ok(self)
    }

    /// With what is replaced, behind all steps but those that tell nothing themselves, or what the user says.
    ///
    /// # Errors
    /// Where it is said what, but not asked for, or cannot be done.
    fn anonymizing(mut self, how: AnonymizeArgs) -> Result<Self, clap::Error> {
        let place = |step: &Step| match step {
            Step::Anonymize(..) => 1,
            step => 2 * u8::from(tells_nothing(step)),
        };
        match (self.list.iter_mut().find(|step| place(step) == 1), how.first_given()) {
            (Some(Step::Anonymize(key, kept)), _) => {
                how.put(key, kept).map_err(|error| clap::Error::raw(ErrorKind::ArgumentConflict, error))?;
                self.list.sort_by_key(place);
            }
            (_, Some(option)) => {
                let message = format!("{option} is for --anonymize");
                return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, message));
            }
            _ => {}
        }
        Ok(self)
    }

    /// With jitdumps and images in these places.
    ///
    /// # Errors
    /// Where a place is said, and no step is for it.
    pub fn placing(mut self, jit: &JitArgs) -> Result<Self, clap::Error> {
        let misplaced = |option: Option<&str>, of: &str| {
            option.map(|option| clap::Error::raw(ErrorKind::MissingRequiredArgument, format!("{option} is for {of}")))
        };
        let (mut of_dumps, mut of_images) = (jit.first_of_dumps(), jit.first_of_images());
        for step in &mut self.list {
            match step {
                Step::Jit(places, images) => {
                    (*places, *images) = (jit.places(), jit.images());
                    (of_dumps, of_images) = (None, None);
                }
                Step::PerfMap(_, images) => {
                    *images = jit.images();
                    of_images = None;
                }
                _ => {}
            }
        }
        match misplaced(of_dumps, "--jit").or(misplaced(of_images, "--jit and --perf-map")) {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// With images that go there unless it is said where.
    pub fn with_images(&self, beside: &ImageOptions) -> Vec<Step> {
        let mut list = self.list.clone();
        for step in &mut list {
            if let Step::Jit(_, images) | Step::PerfMap(_, images) = step {
                images.dir = images.dir.take().or_else(|| beside.dir.clone());
                images.overwrite = beside.overwrite;
            }
        }
        list
    }
}

/// Whether a step makes nothing known that was not: it may follow when all is anonymous.
fn tells_nothing(step: &Step) -> bool {
    matches!(step, Step::Sort | Step::Header(HeaderEdit::Set(..) | HeaderEdit::Add(..)))
}

impl Args for Steps {
    fn augment_args(command: Command) -> Command {
        let command = JitArgs::augment_args(FindArgs::augment_args(StepArgs::augment_args(command)));
        AnonymizeArgs::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        let command = FindArgs::augment_args_for_update(StepArgs::augment_args_for_update(command));
        AnonymizeArgs::augment_args_for_update(JitArgs::augment_args_for_update(command))
    }
}

impl FromArgMatches for Steps {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut steps = Vec::new();
        for id in IDS {
            let places = matches.indices_of(id).into_iter().flatten();
            steps.extend(places.zip(matches.get_many::<Step>(id).into_iter().flatten().cloned()));
        }
        steps.sort_by_key(|(place, _)| *place);
        let mut list: Vec<Step> = Vec::new();
        for (_, step) in steps {
            // What an option asks for, and asks for again, is one filter.
            let left = list.iter_mut().try_fold(step, |step, other| other.merge(step));
            list.extend(left);
        }
        if let Some(Step::Event { keep_attrs, .. }) = list.iter_mut().find(|step| matches!(step, Step::Event { .. })) {
            *keep_attrs = matches.get_flag("keep_attrs");
        }
        Self { list }
            .looking(FindArgs::from_arg_matches(matches)?)?
            .placing(&JitArgs::from_arg_matches(matches)?)?
            .anonymizing(AnonymizeArgs::from_arg_matches(matches)?)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
