//! Blocks of commands in a page of Markdown.

/// A page as parts that are together its text.
#[derive(Debug)]
pub(crate) struct Page {
    pub parts: Vec<Part>,
}

/// A part of a page.
#[derive(Debug)]
pub(crate) enum Part {
    /// What is not executed.
    Text(String),
    /// A script that prepares the directory; `text` is the comment that it is in.
    Setup {
        line: usize,
        text: String,
        script: String,
    },
    Block(Block),
}

/// A block of commands.
#[derive(Debug)]
pub(crate) struct Block {
    /// The line that begins the block.
    fence: String,
    pub is_compared: bool,
    /// Why its commands are not executed.
    pub no_run: Option<String>,
    /// Programs that it needs.
    pub needs: Vec<String>,
    /// Exit status of each command.
    pub status: i32,
    pub commands: Vec<Command>,
}

/// A command with its output.
#[derive(Debug)]
pub(crate) struct Command {
    /// Number of the line in the page.
    pub line: usize,
    /// The lines as they are in the page.
    text: String,
    /// The command without prompts.
    pub script: String,
    /// The output that the page shows.
    pub output: String,
}

/// Languages of blocks that have no commands.
const OTHER_LANGUAGES: [&str; 10] = ["c", "diff", "json", "proto", "python", "rust", "sql", "text", "toml", "xml"];

impl Page {
    /// Parses a page; `name` is what errors call it.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Page, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut lines = text.split_inclusive('\n').enumerate().map(|(index, line)| (index + 1, line));
        while let Some((number, line)) = lines.next() {
            let fail = |problem: &str| Err(format!("{name}:{number}: {problem}"));
            if line == "<!-- setup\n" {
                parts.push(Part::Text(std::mem::take(&mut plain)));
                let (mut comment, mut script) = (line.to_owned(), String::new());
                loop {
                    let Some((_, line)) = lines.next() else { return fail("the setup is not closed") };
                    comment.push_str(line);
                    if line.trim_end() == "-->" {
                        break;
                    }
                    script.push_str(line);
                }
                parts.push(Part::Setup { line: number, text: comment, script });
            } else if line.trim_start().starts_with("```") {
                let language = line.trim_start().trim_start_matches('`');
                let end = &line.trim_start()[..line.trim_start().len() - language.len()];
                let words: Vec<_> = language.split([' ', ',', '\n']).filter(|word| !word.is_empty()).collect();
                let mut content = Vec::new();
                loop {
                    let Some((number, line)) = lines.next() else { return fail("the block is not closed") };
                    if line.trim() == end {
                        break;
                    }
                    content.push((number, line));
                }
                match words.first() {
                    Some(&"console") if line.starts_with("```c") => {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                        match Block::parse(line, &words[1..], &content) {
                            Ok(block) => parts.push(Part::Block(block)),
                            Err(problem) => return fail(&problem),
                        }
                    }
                    Some(other) if OTHER_LANGUAGES.contains(other) => {
                        plain.push_str(line);
                        plain.extend(content.into_iter().map(|(_, line)| line));
                        let indent = line.len() - line.trim_start().len();
                        plain.push_str(&line[..indent]);
                        plain.push_str(end);
                        plain.push('\n');
                    }
                    _ => return fail("the block has no known language; commands are in unindented ```console blocks"),
                }
            } else {
                plain.push_str(line);
            }
        }
        parts.push(Part::Text(plain));
        Ok(Page { parts })
    }

    pub(crate) fn to_text(&self) -> String {
        self.parts.iter().map(Part::to_text).collect()
    }
}

impl Part {
    fn to_text(&self) -> String {
        match self {
            Part::Text(text) | Part::Setup { text, .. } => text.clone(),
            Part::Block(block) => {
                let commands = block.commands.iter().map(|command| command.text.clone() + &command.output);
                format!("{}{}```\n", block.fence, commands.collect::<String>())
            }
        }
    }
}

impl Block {
    fn parse(fence: &str, words: &[&str], lines: &[(usize, &str)]) -> Result<Self, String> {
        let mut block = Self {
            fence: fence.into(),
            is_compared: true,
            no_run: None,
            needs: Vec::new(),
            status: 0,
            commands: Vec::new(),
        };
        for word in words {
            match word.split_once('=') {
                None if *word == "no-compare" => block.is_compared = false,
                Some(("no-run", reason)) => block.no_run = Some(reason.into()),
                Some(("needs", program)) => block.needs.push(program.into()),
                Some(("status", status)) => {
                    block.status = status.parse().map_err(|_| format!("no exit status: {status}"))?;
                }
                _ => return Err(format!("unknown word: {word}")),
            }
        }
        let mut is_continued = false;
        for (number, line) in lines {
            if is_continued {
                let rest =
                    line.strip_prefix("> ").ok_or("a command is not continued by a line that begins with `> `")?;
                let command = block.commands.last_mut().expect("a command is continued");
                command.text.push_str(line);
                command.script.push_str(rest);
                is_continued = line.ends_with("\\\n");
            } else if let Some(script) = line.strip_prefix("$ ") {
                block.commands.push(Command {
                    line: *number,
                    text: (*line).into(),
                    script: script.into(),
                    output: String::new(),
                });
                is_continued = line.ends_with("\\\n");
            } else {
                block.commands.last_mut().ok_or("no command before the first line of output")?.output.push_str(line);
            }
        }
        if is_continued {
            return Err("the last command is not continued".into());
        }
        if block.commands.is_empty() {
            return Err("the block has no command".into());
        }
        if block.commands.iter().any(|command| command.output.lines().filter(|line| *line == "...").count() > 1) {
            return Err("an output has more than one `...`".into());
        }
        Ok(block)
    }
}

impl Command {
    /// Whether the command printed what the page shows.
    pub(crate) fn matches(&self, printed: &str) -> bool {
        let (shown, printed) = (lines(&self.output), lines(printed));
        match shown.iter().position(|line| *line == "...") {
            None => shown == printed,
            Some(gap) => {
                let (head, tail) = (&shown[..gap], &shown[gap + 1..]);
                head.len() + tail.len() <= printed.len() && printed.starts_with(head) && printed.ends_with(tail)
            }
        }
    }

    /// Shows this output: all of it, or as many lines before and after `...` as were shown before.
    pub(crate) fn replace_output(&mut self, printed: &str) {
        let (shown, mut printed) = (lines(&self.output), lines(printed));
        if let Some(gap) = shown.iter().position(|line| *line == "...") {
            let tail = shown.len() - gap - 1;
            if gap + tail < printed.len() {
                printed.splice(gap..printed.len() - tail, ["..."]);
            }
        }
        let blank_lines = self.output.len() - self.output.trim_end_matches('\n').len();
        let is_separated = blank_lines > usize::from(!self.output.trim().is_empty());
        let mut output: String = printed.into_iter().flat_map(|line| [line, "\n"]).collect();
        if is_separated {
            output.push('\n');
        }
        self.output = output;
    }
}

/// The lines of an output without blanks at their ends, which editors remove, and without blank lines at its end.
fn lines(output: &str) -> Vec<&str> {
    output.trim_end().lines().map(str::trim_end).collect()
}
