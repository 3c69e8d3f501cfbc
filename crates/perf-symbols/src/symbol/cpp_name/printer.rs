//! Writes the tree of a name as C++ source.

mod expressions;
mod names;

use super::Extent;
use super::tree::{FunctionName, Id, List, Node, Qualifiers, Suffix, Tree};
use std::fmt::Write;

/// Maximum number of nodes in each other. They can be deeper than the name, which refers to parts of itself.
const DEPTH: u32 = 512;
/// Maximum number of nodes written. References let a short name expand to any number of nodes without text.
const NODES: u32 = 1 << 18;

/// Where the expansion of a pack is.
#[derive(Clone, Copy, Default)]
struct Expansion {
    /// Number of the element that is written; `None` outside of expansions.
    element: Option<usize>,
    /// Number of elements, once a pack has been met.
    len: Option<usize>,
}

/// Whether a type is written around a declarator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    Array,
    Function,
}

/// The function whose template arguments parameters refer to, by its number.
type Scope = Option<usize>;

/// Writes a tree.
pub(super) struct Printer<'t, 'a> {
    tree: &'t Tree<'a>,
    out: String,
    limit: usize,
    depth: u32,
    nodes: u32,
    expansion: Expansion,
    /// Number of lambdas in each other whose parameters are written.
    lambdas: u32,
    /// Template arguments of functions, with the scopes of their own parameters.
    scopes: Vec<(List, Scope)>,
    scope: Scope,
    /// Length of the text when an empty pack was omitted.
    omitted_at: usize,
}

impl<'t, 'a> Printer<'t, 'a> {
    pub(super) fn new(tree: &'t Tree<'a>, limit: usize) -> Self {
        Self {
            tree,
            out: String::with_capacity(128),
            limit,
            depth: 0,
            nodes: 0,
            expansion: Expansion::default(),
            lambdas: 0,
            scopes: Vec::new(),
            scope: None,
            omitted_at: 0,
        }
    }

    /// The text of the whole name after a prefix.
    pub(super) fn prefixed(mut self, prefix: &str, extent: Extent) -> Option<String> {
        self.out.push_str(prefix);
        match *self.tree.node(self.tree.root) {
            Node::Encoding(name, _) | Node::QualifiedName(name, _) if extent == Extent::Name => self.node(name)?,
            _ => self.node(self.tree.root)?,
        }
        if extent == Extent::Full {
            self.clones();
        }
        (self.out.len() <= self.limit).then_some(self.out)
    }

    /// Writes the suffixes of clones: a word with the numbers after it, or a number.
    fn clones(&mut self) {
        let mut rest = self.tree.clones;
        while !rest.is_empty() {
            let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            let bytes = rest.as_bytes();
            let mut end = 1;
            while bytes.get(end).is_some_and(|&byte| is_word(byte)) {
                end += 1;
            }
            while bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
                end += 2;
                while bytes.get(end).is_some_and(u8::is_ascii_digit) {
                    end += 1;
                }
            }
            // Any other text is one suffix.
            let end = if end == 1 || bytes.get(end).is_some_and(|&byte| byte != b'.') { rest.len() } else { end };
            let _ = write!(self.out, " [clone {}]", &rest[..end]);
            rest = &rest[end..];
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn ends_with(&self, byte: u8) -> bool {
        self.out.as_bytes().last() == Some(&byte)
    }

    /// Writes a node: what is before a declarator, and what is after it.
    fn node(&mut self, id: Id) -> Option<()> {
        self.left(id)?;
        self.right(id)
    }

    fn counted(&mut self, write: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        if self.depth >= DEPTH || self.nodes >= NODES || self.out.len() > self.limit {
            return None;
        }
        self.depth += 1;
        self.nodes += 1;
        let result = write(self);
        self.depth -= 1;
        result
    }

    /// The argument of a template parameter, with the scope of its own parameters; `None` for `auto` of a lambda.
    ///
    /// A part of the name that refers to an earlier one refers to its mangled text, so that its parameters are those of the function
    /// where it is. Outside of functions, they are those of where they were read.
    fn argument(&self, number: u32, argument: Option<Id>, scope: Scope) -> Option<(Id, Scope)> {
        if self.lambdas > 0 {
            let declared = argument.filter(|&argument| matches!(self.tree.node(argument), Node::Declared(..)));
            return declared.map(|declared| (declared, scope));
        }
        let current = scope.and_then(|scope| self.scopes.get(scope)).and_then(|&(arguments, outer)| {
            self.tree.list(arguments).get(number as usize).map(|&argument| (argument, outer))
        });
        current.or_else(|| argument.map(|argument| (argument, scope)))
    }

    /// The node that a parameter refers to; `None` if that is no single node.
    fn target(&mut self, mut id: Id, mut scope: Scope) -> Option<(Id, Scope)> {
        // Arguments refer to those of outer functions, which end.
        for _ in 0..DEPTH {
            let Node::Parameter(number, argument) = *self.tree.node(id) else { return Some((id, scope)) };
            (id, scope) = self.argument(number, argument, scope)?;
            if let Node::Pack(elements) = *self.tree.node(id) {
                let elements = self.tree.list(elements);
                let element = self.expansion.element?;
                self.expansion.len.get_or_insert(elements.len());
                id = *elements.get(element)?;
            }
        }
        None
    }

    fn scoped(&mut self, scope: Scope, write: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let outer = std::mem::replace(&mut self.scope, scope);
        let result = write(self);
        self.scope = outer;
        result
    }

    fn shape(&mut self, id: Id) -> Shape {
        let mut next = Some((id, self.scope));
        for _ in 0..DEPTH {
            let Some((id, scope)) = next.and_then(|(id, scope)| self.target(id, scope)) else { break };
            match *self.tree.node(id) {
                Node::Array(..) => return Shape::Array,
                Node::Function(_) => return Shape::Function,
                Node::Qualified(inner, _) | Node::VendorQualified(inner, _) => next = Some((inner, scope)),
                _ => break,
            }
        }
        Shape::Plain
    }

    /// The type that a reference refers to, and the kind of the reference: one to a reference is that reference.
    fn collapsed(&mut self, inner: Id, kind: &'static str) -> (Id, Scope, &'static str) {
        let (mut inner, mut scope, mut kind) = (inner, self.scope, kind);
        for _ in 0..DEPTH {
            let Some((id, outer)) = self.target(inner, scope) else { break };
            let Node::Reference(next, other) = *self.tree.node(id) else { break };
            (inner, scope) = (next, outer);
            kind = if kind == "&&" && other == "&&" { "&&" } else { "&" };
        }
        (inner, scope, kind)
    }

    /// Writes the declarator of a pointer or a reference: an array or a function needs parentheses.
    fn open_declarator(&mut self, inner: Id) {
        match self.shape(inner) {
            Shape::Plain => {}
            Shape::Array => self.text(" ("),
            Shape::Function => self.text("("),
        }
    }

    fn close_declarator(&mut self, inner: Id) -> Option<()> {
        if self.shape(inner) != Shape::Plain {
            self.text(")");
        }
        self.right(inner)
    }

    fn left(&mut self, id: Id) -> Option<()> {
        self.counted(|printer| printer.write_left(id))
    }

    fn right(&mut self, id: Id) -> Option<()> {
        self.counted(|printer| printer.write_right(id))
    }

    fn write_left(&mut self, id: Id) -> Option<()> {
        match *self.tree.node(id) {
            Node::Qualified(inner, qualifiers) => {
                self.left(inner)?;
                if self.shape(inner) != Shape::Function {
                    let qualifiers = self.more_qualifiers(inner, qualifiers);
                    self.qualifiers(qualifiers);
                }
            }
            Node::VendorQualified(inner, qualifier) => {
                self.left(inner)?;
                self.text(" ");
                self.node(qualifier)?;
            }
            Node::Pointer(inner) => {
                self.left(inner)?;
                self.open_declarator(inner);
                self.text("*");
            }
            Node::Reference(inner, kind) => {
                let (inner, scope, kind) = self.collapsed(inner, kind);
                self.scoped(scope, |printer| {
                    printer.left(inner)?;
                    printer.open_declarator(inner);
                    printer.text(kind);
                    Some(())
                })?;
            }
            Node::MemberPointer { class, member } => {
                self.left(member)?;
                self.open_declarator(member);
                if !self.ends_with(b'(') {
                    self.text(" ");
                }
                self.node(class)?;
                self.text("::*");
            }
            Node::Array(_, element) => self.left(element)?,
            Node::Function(function) => {
                if let Some(result) = function.result {
                    self.left(result)?;
                    self.text(" ");
                }
            }
            Node::Parameter(number, argument) => match self.argument(number, argument, self.scope) {
                Some((argument, scope)) => {
                    self.scoped(scope, |printer| printer.argument_part(argument, Self::left, true))?;
                }
                None => {
                    let _ = write!(self.out, "auto:{}", u64::from(number) + 1);
                }
            },
            _ => self.whole(id)?,
        }
        Some(())
    }

    fn write_right(&mut self, id: Id) -> Option<()> {
        match *self.tree.node(id) {
            Node::Qualified(inner, qualifiers) => {
                self.right(inner)?;
                if self.shape(inner) == Shape::Function {
                    self.qualifiers(qualifiers);
                }
            }
            Node::VendorQualified(inner, _) => self.right(inner)?,
            Node::Pointer(inner) => self.close_declarator(inner)?,
            Node::Reference(inner, kind) => {
                let (inner, scope, _) = self.collapsed(inner, kind);
                self.scoped(scope, |printer| printer.close_declarator(inner))?;
            }
            Node::MemberPointer { member, .. } => self.close_declarator(member)?,
            Node::Array(dimension, element) => {
                if !self.ends_with(b']') {
                    self.text(" ");
                }
                self.text("[");
                if let Some(dimension) = dimension {
                    self.node(dimension)?;
                }
                self.text("]");
                self.right(element)?;
            }
            Node::Function(function) => self.signature(&function)?,
            Node::Parameter(number, argument) => {
                if let Some((argument, scope)) = self.argument(number, argument, self.scope) {
                    self.scoped(scope, |printer| printer.argument_part(argument, Self::right, false))?;
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Writes what follows the name of a function.
    fn signature(&mut self, function: &FunctionName) -> Option<()> {
        self.text("(");
        if function.has_object && !self.tree.list(function.parameters).is_empty() {
            self.text("this ");
        }
        self.list(function.parameters)?;
        self.text(")");
        self.qualifiers(function.qualifiers);
        match function.suffix {
            Some(Suffix::Text(text)) => self.text(text),
            Some(Suffix::Noexcept(condition)) => {
                self.text(" noexcept(");
                self.node(condition)?;
                self.text(")");
            }
            Some(Suffix::Throw(types)) => {
                self.text(" throw(");
                self.list(types)?;
                self.text(")");
            }
            None => {}
        }
        if let Some(result) = function.result {
            self.right(result)?;
        }
        self.constraint(function.constraint)
    }

    fn constraint(&mut self, constraint: Option<Id>) -> Option<()> {
        if let Some(constraint) = constraint {
            self.text(" requires ");
            self.node(constraint)?;
        }
        Some(())
    }

    fn qualifiers(&mut self, qualifiers: Qualifiers) {
        if qualifiers.is_const {
            self.text(" const");
        }
        if qualifiers.is_volatile {
            self.text(" volatile");
        }
        if qualifiers.is_restrict {
            self.text(" restrict");
        }
        if !qualifiers.reference.is_empty() {
            self.text(" ");
            self.text(qualifiers.reference);
        }
    }

    /// The qualifiers of a type that an argument does not have already.
    fn more_qualifiers(&mut self, inner: Id, qualifiers: Qualifiers) -> Qualifiers {
        match self.target(inner, self.scope).map(|(id, _)| self.tree.node(id)) {
            Some(&Node::Qualified(_, has)) => Qualifiers {
                is_const: qualifiers.is_const && !has.is_const,
                is_volatile: qualifiers.is_volatile && !has.is_volatile,
                is_restrict: qualifiers.is_restrict && !has.is_restrict,
                ..qualifiers
            },
            _ => qualifiers,
        }
    }

    /// Writes elements with commas between them. An empty pack is not an element.
    fn list(&mut self, list: List) -> Option<()> {
        let tree = self.tree;
        self.elements(tree.list(list))
    }

    fn elements(&mut self, elements: &[Id]) -> Option<()> {
        let start = self.out.len();
        for &element in elements {
            let before = self.out.len();
            if before > start {
                self.text(", ");
            }
            let begin = self.out.len();
            self.node(element)?;
            if self.out.len() == begin && before > start {
                self.out.truncate(before);
                self.omitted_at = before;
            }
        }
        Some(())
    }

    fn template_arguments(&mut self, arguments: List) -> Option<()> {
        if self.ends_with(b'<') {
            self.text(" ");
        }
        self.text("<");
        self.list(arguments)?;
        // c++filt takes the comma before an empty pack for the last character.
        if self.ends_with(b'>') && self.omitted_at != self.out.len() {
            self.text(" ");
        }
        self.text(">");
        Some(())
    }

    /// Writes a part of an argument; of a pack that of the current element, or outside of expansions all elements.
    fn argument_part(&mut self, argument: Id, write: fn(&mut Self, Id) -> Option<()>, is_left: bool) -> Option<()> {
        let Node::Pack(elements) = *self.tree.node(argument) else { return write(self, argument) };
        let Some(number) = self.expansion.element else { return if is_left { self.list(elements) } else { Some(()) } };
        let tree = self.tree;
        let elements = tree.list(elements);
        self.expansion.len.get_or_insert(elements.len());
        let Some(&element) = elements.get(number) else { return Some(()) };
        // Elements were read where the pack was, so that they are not expanded with it.
        let expansion = std::mem::take(&mut self.expansion);
        write(self, element)?;
        self.expansion = expansion;
        Some(())
    }

    fn expand(&mut self, pattern: Id) -> Option<()> {
        let outer = std::mem::replace(&mut self.expansion, Expansion { element: Some(0), len: None });
        let start = self.out.len();
        self.node(pattern)?;
        match self.expansion.len {
            None => {
                if !self.is_simple(pattern) {
                    self.out.insert(start, '(');
                    self.text(")");
                }
                self.text("...");
            }
            Some(0) => self.out.truncate(start),
            Some(len) => {
                for number in 1..len {
                    self.text(", ");
                    self.expansion.element = Some(number);
                    self.node(pattern)?;
                }
            }
        }
        self.expansion = outer;
        Some(())
    }

    /// Whether a return type is written around the function, as pointers to functions are.
    fn is_declarator(&mut self, id: Id) -> bool {
        let mut next = Some((id, self.scope));
        for _ in 0..DEPTH {
            let Some((id, scope)) = next.and_then(|(id, scope)| self.target(id, scope)) else { break };
            match *self.tree.node(id) {
                Node::Array(..) | Node::Function(_) => return true,
                Node::Pointer(inner)
                | Node::Reference(inner, _)
                | Node::MemberPointer { member: inner, .. }
                | Node::Qualified(inner, _) => next = Some((inner, scope)),
                _ => break,
            }
        }
        false
    }

    /// The template arguments at the end of a name.
    fn arguments_of(&self, name: Id) -> List {
        match *self.tree.node(name) {
            Node::Template(_, arguments) => arguments,
            Node::Scoped(_, inner) => self.arguments_of(inner),
            _ => List::default(),
        }
    }
}
