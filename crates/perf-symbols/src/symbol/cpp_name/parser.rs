//! Reads mangled names: encodings and names of compiler-generated objects.

use super::tree::{FunctionName, Id, List, Node, Qualifiers, Tree};

/// Maximum number of productions in each other. Real names have up to about 100.
const DEPTH: u32 = 256;

/// What the name of a function says about it.
#[derive(Default)]
pub(super) struct NameState {
    /// Whether it is the name of a type, whose template arguments are not those that `T_` refers to.
    pub is_type: bool,
    pub qualifiers: Qualifiers,
    pub has_object: bool,
    pub constraint: Option<Id>,
}

/// Reads a mangled name.
pub(super) struct Parser<'a> {
    pub text: &'a str,
    pub at: usize,
    pub tree: Tree<'a>,
    /// What `S_` and its like refer to.
    pub substitutions: Vec<Id>,
    /// What `T_` and its like refer to.
    pub arguments: Vec<Id>,
    /// Parameters that come before the arguments, with their numbers.
    pub forward: Vec<(u32, Id)>,
    /// Whether `T_` comes before the arguments, as in the types of conversion operators.
    pub is_forward: bool,
    /// Whether template arguments after a type are those of the conversion operator to it.
    pub is_conversion: bool,
    /// Template parameters that the lambda declares whose parameters are read; `None` outside of these.
    pub lambda: Option<Vec<Id>>,
    /// The last identifier, after which constructors are named.
    pub last_name: &'a str,
    /// Elements of lists that are not complete.
    pending: Vec<Id>,
    depth: u32,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            tree: Tree::default(),
            substitutions: Vec::with_capacity(16),
            arguments: Vec::new(),
            forward: Vec::new(),
            is_forward: false,
            is_conversion: false,
            lambda: None,
            last_name: "",
            pending: Vec::with_capacity(8),
            depth: 0,
        }
    }

    /// Reads a whole name.
    pub(super) fn whole(mut self) -> Option<Tree<'a>> {
        let root = self.encoding(true)?;
        let rest = &self.text[self.at..];
        self.tree.root = root;
        self.tree.clones = rest;
        (rest.is_empty() || rest.starts_with('.')).then_some(self.tree)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The byte after the next one.
    pub(super) fn peek_second(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at + 1).copied()
    }

    /// Skips a word if it is next.
    pub(super) fn skip(&mut self, word: &str) -> bool {
        let is_next = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    pub(super) fn expect(&mut self, word: &str) -> Option<()> {
        self.skip(word).then_some(())
    }

    pub(super) fn digits(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let len = rest.bytes().take_while(u8::is_ascii_digit).count();
        self.at += len;
        Some(&rest[..len]).filter(|digits| !digits.is_empty())
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        self.digits()?.parse().ok()
    }

    /// A number from 0 that is written as nothing for 0, 0 for 1, ..., with an underscore at the end.
    pub(super) fn compact_number(&mut self) -> Option<u64> {
        if self.skip("_") {
            return Some(0);
        }
        let number = self.number()?;
        self.expect("_")?;
        number.checked_add(1)
    }

    /// Such a number of base 36.
    pub(super) fn sequence_number(&mut self) -> Option<usize> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let len = rest.iter().take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()).count();
        let digits = &self.text[self.at..self.at + len];
        self.at += len;
        self.expect("_")?;
        if digits.is_empty() { Some(0) } else { usize::from_str_radix(digits, 36).ok()?.checked_add(1) }
    }

    /// Calls a function that reads a part of the name, unless parts are nested too deeply.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= DEPTH {
            return None;
        }
        self.depth += 1;
        let part = read(self);
        self.depth -= 1;
        part
    }

    /// Reads elements until a function says that the list is complete.
    pub(super) fn list(
        &mut self,
        is_complete: impl Fn(&mut Self) -> bool,
        mut read: impl FnMut(&mut Self) -> Option<Id>,
    ) -> Option<List> {
        let start = self.pending.len();
        while !is_complete(self) {
            let element = read(self)?;
            self.pending.push(element);
        }
        Some(self.tree.add_list(self.pending.drain(start..)))
    }

    pub(super) fn substitutable(&mut self, id: Id) -> Id {
        self.substitutions.push(id);
        id
    }

    pub(super) fn is_at_end(&self) -> bool {
        matches!(self.peek(), None | Some(b'E' | b'.'))
    }

    /// Reads a function or a variable. The outermost one may have parameters that cannot be read.
    pub(super) fn encoding(&mut self, is_outermost: bool) -> Option<Id> {
        if matches!(self.peek(), Some(b'G' | b'T')) {
            return self.nested(Self::special);
        }
        let outer = std::mem::take(&mut self.arguments);
        let (outer_forward, lambda) = (std::mem::take(&mut self.forward), self.lambda.take());
        let is_forward = std::mem::take(&mut self.is_forward);
        let is_conversion = std::mem::take(&mut self.is_conversion);
        let encoding = self.nested(|parser| {
            let mut state = NameState::default();
            let name = parser.name(&mut state)?;
            parser.resolve_forward()?;
            if parser.is_at_end() {
                let is_plain = state.qualifiers == Qualifiers::default();
                return Some(if is_plain {
                    name
                } else {
                    parser.tree.add(Node::QualifiedName(name, state.qualifiers))
                });
            }
            let function = parser.function(name, &state);
            let is_whole = function.is_some() && (!is_outermost || matches!(parser.peek(), None | Some(b'.')));
            if let Some(function) = function.filter(|_| is_whole) {
                return Some(parser.tree.add(Node::Encoding(name, function)));
            }
            // The name is worth more than a mangled one, unless it may be that of a function in C.
            let is_long = matches!(parser.tree.node(name), Node::Scoped(..) | Node::Template(..));
            parser.at = parser.text.len();
            (is_outermost && is_long).then_some(name)
        });
        (self.arguments, self.forward, self.lambda) = (outer, outer_forward, lambda);
        (self.is_forward, self.is_conversion) = (is_forward, is_conversion);
        encoding
    }

    fn function(&mut self, name: Id, state: &NameState) -> Option<FunctionName> {
        let has_result = match *self.tree.node(self.last_of_scope(name)) {
            Node::Template(function, _) => !self.tree.is_without_result(function),
            _ => false,
        };
        // A `J` also says that there is a return type.
        let has_result = self.skip("J") || has_result;
        let result = if has_result { Some(self.ty()?) } else { None };
        let parameters = self.parameters(|parser| parser.is_at_end() || parser.peek() == Some(b'Q'))?;
        let constraint = if self.skip("Q") { Some(self.expression()?) } else { state.constraint };
        let (qualifiers, has_object) = (state.qualifiers, state.has_object);
        Some(FunctionName { result, parameters, qualifiers, suffix: None, has_object, constraint })
    }

    /// The name in the innermost scope of a function's name, which has its template arguments.
    fn last_of_scope(&self, name: Id) -> Id {
        match *self.tree.node(name) {
            Node::Scoped(_, inner) => self.last_of_scope(inner),
            _ => name,
        }
    }

    /// Reads types of parameters.
    pub(super) fn parameters(&mut self, is_complete: impl Fn(&mut Self) -> bool) -> Option<List> {
        if self.peek() == Some(b'v') {
            self.at += 1;
            if is_complete(self) {
                return Some(List::default());
            }
            self.at -= 1;
        }
        let parameters = self.list(is_complete, Self::ty)?;
        (!self.tree.list(parameters).is_empty()).then_some(parameters)
    }

    /// Sets what parameters refer to that come before the arguments.
    fn resolve_forward(&mut self) -> Option<()> {
        for (number, id) in std::mem::take(&mut self.forward) {
            let argument = *self.arguments.get(number as usize)?;
            self.tree.set(id, Node::Parameter(number, Some(argument)));
        }
        Some(())
    }

    /// Reads the name of an object that compilers generate.
    fn special(&mut self) -> Option<Id> {
        let (kind, code) = (self.peek()?, self.peek_second()?);
        self.at += 2;
        let described = |parser: &mut Self, text, id: Option<Id>| Some(parser.tree.add(Node::Special(text, id?)));
        let class = match (kind, code) {
            (b'T', b'V') => Some("vtable for "),
            (b'T', b'T') => Some("VTT for "),
            (b'T', b'I') => Some("typeinfo for "),
            (b'T', b'S') => Some("typeinfo name for "),
            (b'T', b'F') => Some("typeinfo fn for "),
            (b'T', b'J') => Some("java Class for "),
            _ => None,
        };
        if let Some(text) = class {
            let ty = self.ty();
            return described(self, text, ty);
        }
        let (text, id) = match (kind, code) {
            (b'T', b'h') => {
                self.offset()?;
                ("non-virtual thunk to ", self.encoding(false))
            }
            (b'T', b'v') => {
                self.offset()?;
                self.offset()?;
                ("virtual thunk to ", self.encoding(false))
            }
            (b'T', b'c') => {
                self.call_offset()?;
                self.call_offset()?;
                ("covariant return thunk to ", self.encoding(false))
            }
            (b'T', b'C') => {
                let class = self.ty()?;
                self.digits()?;
                self.expect("_")?;
                let base = self.ty()?;
                return Some(self.tree.add(Node::ConstructionVtable { class, base }));
            }
            (b'T', b'A') => ("template parameter object for ", self.template_argument()),
            (b'T', b'H') => ("TLS init function for ", self.name(&mut NameState::default())),
            (b'T', b'W') => ("TLS wrapper function for ", self.name(&mut NameState::default())),
            (b'G', b'V') => ("guard variable for ", self.name(&mut NameState::default())),
            (b'G', b'A') => ("hidden alias for ", self.encoding(false)),
            (b'G', b'I') => ("initializer for module ", self.module(None)),
            (b'G', b'R') => {
                let name = self.name(&mut NameState::default())?;
                let number = self.number().unwrap_or(0);
                self.skip("_");
                return Some(self.tree.add(Node::ReferenceTemporary(name, number)));
            }
            (b'G', b'T') => {
                let is_clone = !self.skip("n");
                self.at += usize::from(is_clone && self.peek().is_some());
                let text = if is_clone { "transaction clone for " } else { "non-transaction clone for " };
                (text, self.encoding(false))
            }
            _ => return None,
        };
        described(self, text, id)
    }

    /// Skips a number, which may be negative, and an underscore.
    fn offset(&mut self) -> Option<()> {
        self.skip("n");
        self.digits()?;
        self.expect("_")
    }

    fn call_offset(&mut self) -> Option<()> {
        if self.skip("h") {
            return self.offset();
        }
        self.expect("v")?;
        self.offset()?;
        self.offset()
    }
}
