//! Decodes stacks, frames and functions of the tables of a profile or thread.

use super::document::{
    Document, FrameTable, FuncTable, ImportedThread, IndexColumn, ResourceTable, SharedParts, SourceTable, StackTable,
};
use super::import_frames::ImportedFrames;
use crate::formats::import::MAX_FRAMES;
use crate::formats::import::json_document::JsonText;
use crate::formats::import::source::{SourceFunction, SourceProfile};

/// Bits of the column `flags` of frames.
mod frame_flags {
    pub(super) const IS_INLINED: u32 = 1;
    pub(super) const HAS_ADDRESS: u32 = 1 << 1;
    pub(super) const HAS_CATEGORY: u32 = 1 << 2;
    pub(super) const HAS_LINE: u32 = 1 << 4;
    pub(super) const HAS_COLUMN: u32 = 1 << 5;
}

/// Bits of the column `flags` of functions.
mod function_flags {
    pub(super) const HAS_RESOURCE: u32 = 1 << 2;
    pub(super) const HAS_SOURCE: u32 = 1 << 3;
    pub(super) const HAS_LINE: u32 = 1 << 4;
}

/// A result whose error begins with the table.
type Result<T> = std::result::Result<T, String>;

/// A frame as in the tables.
pub(super) struct TableFrame<'a> {
    pub function: SourceFunction,
    /// Name of the function.
    pub name: &'a str,
    /// Index of the library.
    pub lib: Option<u32>,
    /// Address in the library.
    pub address: Option<u32>,
    /// Index of the category.
    pub category: Option<u32>,
    /// Line; 0 if unknown.
    pub line: u32,
    /// Column; 0 if unknown.
    pub column: u32,
    /// Whether the function is inlined into that of the calling frame.
    pub is_inlined: bool,
}

/// Tables, and the numbers in the profile of the rows that were decoded.
pub(super) struct ImportedTables<'a> {
    strings: &'a [JsonText<'a>],
    sources: Option<&'a SourceTable>,
    stacks: &'a StackTable,
    frames: &'a FrameTable,
    functions: &'a FuncTable,
    resources: Option<&'a ResourceTable>,
    /// Number of libraries.
    libs: usize,
    /// By row.
    known_stacks: Vec<Option<u32>>,
    known_frames: Vec<Option<u32>>,
    /// Scratch buffer.
    stack: Vec<u32>,
}

impl<'a> ImportedTables<'a> {
    /// The tables that threads share, if there are any.
    ///
    /// # Errors
    /// If a table is missing, or columns of a table differ in length.
    pub(super) fn shared(document: &'a Document<'a>) -> Result<Option<Self>> {
        let Some(shared) = document.shared.as_ref().filter(|shared| shared.stack_table.is_some()) else {
            return Ok(None);
        };
        let within_shared = |problem| format!("shared.{problem}");
        let SharedParts { string_array, sources, stack_table, frame_table, func_table, resource_table } = shared;
        let tables = Self::new(
            string_array.as_deref(),
            sources.as_ref(),
            stack_table.as_ref(),
            frame_table.as_ref(),
            func_table.as_ref(),
            resource_table.as_ref(),
            document.libs.len(),
        );
        tables.map(Some).map_err(within_shared)
    }

    /// The tables of a thread.
    ///
    /// # Errors
    /// If a table is missing, or columns of a table differ in length.
    pub(super) fn from_thread(document: &'a Document<'a>, thread: &'a ImportedThread<'a>) -> Result<Self> {
        let shared = document.shared.as_ref();
        Self::new(
            thread.string_array.as_deref().or_else(|| shared?.string_array.as_deref()),
            shared.and_then(|shared| shared.sources.as_ref()),
            thread.stack_table.as_ref(),
            thread.frame_table.as_ref(),
            thread.func_table.as_ref(),
            thread.resource_table.as_ref(),
            document.libs.len(),
        )
    }

    fn new(
        strings: Option<&'a [JsonText<'a>]>,
        sources: Option<&'a SourceTable>,
        stacks: Option<&'a StackTable>,
        frames: Option<&'a FrameTable>,
        functions: Option<&'a FuncTable>,
        resources: Option<&'a ResourceTable>,
        libs: usize,
    ) -> Result<Self> {
        let missing = |table: &str| format!("{table}: missing");
        let stacks = stacks.ok_or_else(|| missing("stackTable"))?;
        let frames = frames.ok_or_else(|| missing("frameTable"))?;
        let functions = functions.ok_or_else(|| missing("funcTable"))?;
        let strings = strings.ok_or_else(|| missing("stringArray"))?;
        let StackTable { frame, prefix, prefix_offset } = stacks;
        if prefix.is_none() && prefix_offset.is_none() {
            return Err(missing("stackTable.prefix"));
        }
        check("stackTable", frame.len(), [("prefix", prefix), ("prefixOffset", prefix_offset)])?;
        let FrameTable { func, address, inline_depth, category, line, column, lib, flags } = frames;
        let columns = [("address", address), ("inlineDepth", inline_depth), ("category", category), ("line", line)];
        check(
            "frameTable",
            func.len(),
            columns.into_iter().chain([("column", column), ("lib", lib), ("flags", flags)]),
        )?;
        let FuncTable { name, full_name, resource, file_name, source, line_number, flags } = functions;
        let columns =
            [("resource", resource), ("fileName", file_name), ("source", source), ("lineNumber", line_number)];
        check("funcTable", name.len(), columns.into_iter().chain([("fullName", full_name), ("flags", flags)]))?;
        let (known_stacks, known_frames) = (vec![None; frame.len()], vec![None; func.len()]);
        let stack = Vec::new();
        Ok(Self { strings, sources, stacks, frames, functions, resources, libs, known_stacks, known_frames, stack })
    }

    /// The number of a stack in the profile. Adds its frames to the total.
    ///
    /// # Errors
    /// If an index is invalid.
    pub(super) fn stack(&mut self, row: u32, frames: &mut ImportedFrames, total: &mut usize) -> Result<u32> {
        if let Some(stack) = *index(&self.known_stacks, row, || format!("stackTable[{row}]"))? {
            return Ok(stack);
        }
        self.stack.clear();
        let mut next = Some(row);
        while let Some(row) = next.filter(|_| self.stack.len() < MAX_FRAMES) {
            let frame = self.frame(row, frames)?;
            self.stack.push(frame);
            next = self.prefix(row)?;
        }
        *total += self.stack.len();
        let stack = frames.profile.stacks.id(&self.stack);
        self.known_stacks[row as usize] = Some(stack);
        Ok(stack)
    }

    /// The calling stack, which is before the stack in the table.
    fn prefix(&self, row: u32) -> Result<Option<u32>> {
        let StackTable { prefix, prefix_offset, .. } = self.stacks;
        if let Some(offsets) = prefix_offset {
            let offset = offsets.get(row).unwrap_or(0);
            let prefix = row.checked_sub(offset);
            let prefix =
                prefix.ok_or_else(|| format!("stackTable.prefixOffset[{row}]: {offset} is before the table"))?;
            return Ok(Some(prefix).filter(|_| offset > 0));
        }
        match prefix.as_ref().and_then(|prefix| prefix.get(row)) {
            Some(prefix) if prefix >= row => Err(format!("stackTable.prefix[{row}]: {prefix} is not before the stack")),
            prefix => Ok(prefix),
        }
    }

    /// The number of the frame of a stack in the profile.
    fn frame(&mut self, stack: u32, frames: &mut ImportedFrames) -> Result<u32> {
        let path = || format!("stackTable.frame[{stack}]");
        let row = self.stacks.frame.get(stack).ok_or_else(|| format!("{}: missing", path()))?;
        if let Some(frame) = *index(&self.known_frames, row, path)? {
            return Ok(frame);
        }
        let frame = self.table_frame(row, &mut frames.profile)?;
        let frame = frames.id(&frame);
        self.known_frames[row as usize] = Some(frame);
        Ok(frame)
    }

    fn table_frame(&self, row: u32, profile: &mut SourceProfile) -> Result<TableFrame<'a>> {
        let FrameTable { func, address, inline_depth, category, line, column, lib, flags } = self.frames;
        let flags = flags.as_ref();
        let with = |bit: u32, values: &Option<IndexColumn>| value(values, row, flags, bit);
        let is_inlined = match flags {
            Some(flags) => flags.get(row).unwrap_or(0) & frame_flags::IS_INLINED != 0,
            None => inline_depth.as_ref().and_then(|depths| depths.get(row)) > Some(0),
        };
        let function_row = func.get(row).ok_or_else(|| format!("frameTable.func[{row}]: missing"))?;
        let (function, name) = self.function(function_row, row, profile)?;
        let lib = match lib {
            Some(_) => with(frame_flags::HAS_ADDRESS, lib),
            None => self.function_lib(function_row)?,
        };
        if let Some(lib) = lib.filter(|&lib| lib as usize >= self.libs) {
            return Err(format!("frameTable[{row}]: library {lib} does not exist"));
        }
        Ok(TableFrame {
            function,
            name,
            lib,
            address: with(frame_flags::HAS_ADDRESS, address),
            category: with(frame_flags::HAS_CATEGORY, category),
            line: with(frame_flags::HAS_LINE, line).unwrap_or(0),
            column: with(frame_flags::HAS_COLUMN, column).unwrap_or(0),
            is_inlined,
        })
    }

    /// The library of a function, by its resource.
    fn function_lib(&self, function: u32) -> Result<Option<u32>> {
        let FuncTable { resource, flags, .. } = self.functions;
        let resource = value(resource, function, flags.as_ref(), function_flags::HAS_RESOURCE);
        let libs = self.resources.and_then(|resources| resources.lib.as_ref());
        match (resource, libs) {
            (Some(resource), Some(libs)) if resource as usize >= libs.len() => {
                Err(format!("funcTable.resource[{function}]: {resource} does not exist"))
            }
            (Some(resource), Some(libs)) => Ok(libs.get(resource)),
            _ => Ok(None),
        }
    }

    /// A function and its name.
    fn function(&self, row: u32, frame: u32, profile: &mut SourceProfile) -> Result<(SourceFunction, &'a str)> {
        let FuncTable { name, full_name, file_name, source, line_number, flags, .. } = self.functions;
        if row as usize >= name.len() {
            return Err(format!("frameTable.func[{frame}]: {row} does not exist"));
        }
        let flags = flags.as_ref();
        let full_name = full_name.as_ref().and_then(|names| names.get(row));
        let name = full_name.or_else(|| name.get(row)).ok_or_else(|| format!("funcTable.name[{row}]: missing"))?;
        let name = self.string(name, || format!("funcTable.name[{row}]"))?;
        let source = value(source, row, flags, function_flags::HAS_SOURCE);
        let file = match (source, self.sources) {
            (Some(source), Some(sources)) => {
                let path = || format!("funcTable.source[{row}]");
                if source as usize >= sources.filename.len() {
                    return Err(format!("{}: {source} does not exist", path()));
                }
                sources.filename.get(source).map(|file| self.string(file, path)).transpose()?
            }
            _ => {
                let file = file_name.as_ref().and_then(|files| files.get(row));
                file.map(|file| self.string(file, || format!("funcTable.fileName[{row}]"))).transpose()?
            }
        };
        let start_line = value(line_number, row, flags, function_flags::HAS_LINE).unwrap_or(0).into();
        let id = profile.name(name);
        let file = file.filter(|file| !file.is_empty()).map(|file| profile.name(file));
        Ok((SourceFunction { name: id, system_name: Some(id), file, start_line }, name))
    }

    fn string(&self, row: u32, path: impl FnOnce() -> String) -> Result<&'a str> {
        index(self.strings, row, path).map(|text| &**text)
    }
}

/// A value of a column, if it is present by the flags of its row.
fn value(column: &Option<IndexColumn>, row: u32, flags: Option<&IndexColumn>, bit: u32) -> Option<u32> {
    let is_present = flags.is_none_or(|flags| flags.get(row).unwrap_or(0) & bit != 0);
    column.as_ref().filter(|_| is_present)?.get(row)
}

/// Checks that the columns of a table have its length.
fn check<'a>(
    table: &str,
    len: usize,
    columns: impl IntoIterator<Item = (&'a str, &'a Option<IndexColumn>)>,
) -> Result<()> {
    let wrong = |(name, column): (&str, &Option<IndexColumn>)| {
        let actual = column.as_ref()?.len();
        (actual != len).then(|| format!("{table}.{name}: {actual} values, expected {len}"))
    };
    columns.into_iter().find_map(wrong).map_or(Ok(()), Err)
}

/// A row of a table, to which another table refers by its index.
fn index<T>(table: &[T], row: u32, path: impl FnOnce() -> String) -> Result<&T> {
    table.get(row as usize).ok_or_else(|| format!("{}: {row} does not exist", path()))
}
