//! The tree of a mangled name.

use super::operators::Operator;

/// Number of a node.
pub(super) type Id = u32;

/// Nodes next to each other in [`Tree::list`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct List {
    start: u32,
    len: u32,
}

/// Qualifiers of a type or of a member function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Qualifiers {
    pub is_const: bool,
    pub is_volatile: bool,
    pub is_restrict: bool,
    /// `&` or `&&` of a member function.
    pub reference: &'static str,
}

/// What follows the parameters of a function type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Suffix {
    Text(&'static str),
    Noexcept(Id),
    Throw(List),
}

/// A function: its return type, unless the name has none, its parameters and qualifiers.
#[derive(Clone, Copy, Debug)]
pub(super) struct FunctionName {
    pub result: Option<Id>,
    pub parameters: List,
    pub qualifiers: Qualifiers,
    pub suffix: Option<Suffix>,
    /// Whether the first parameter is the object.
    pub has_object: bool,
    pub constraint: Option<Id>,
}

/// A part of a mangled name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'a> {
    /// An identifier, a built-in type or a number.
    Text(&'a str),
    /// A name with an ABI tag.
    Tagged(Id, &'a str),
    /// A name that belongs to a module.
    Attached(Id, Id),
    /// A module after another, with what separates them.
    SubModule(Option<Id>, &'static str, &'a str),
    /// `a::b`
    Scoped(Id, Id),
    /// A name with template arguments.
    Template(Id, List),
    /// A constructor with the name of its class.
    Constructor(&'a str),
    Destructor(&'a str),
    /// A destructor in an expression.
    DestructorOf(Id),
    OperatorName(&'static Operator),
    LiteralOperator(&'a str),
    VendorOperator(&'a str),
    Conversion(Id),
    Lambda {
        head: List,
        parameters: List,
        number: u64,
        constraint: Option<Id>,
    },
    Unnamed(u64),
    StructuredBinding(List),
    DefaultArgument(u64),
    /// A function with its name.
    Encoding(Id, FunctionName),
    /// A name with qualifiers but without parameters.
    QualifiedName(Id, Qualifiers),
    /// A name with a description before it.
    Special(&'static str, Id),
    ConstructionVtable {
        class: Id,
        base: Id,
    },
    ReferenceTemporary(Id, u64),

    Qualified(Id, Qualifiers),
    Pointer(Id),
    Reference(Id, &'static str),
    MemberPointer {
        class: Id,
        member: Id,
    },
    Array(Option<Id>, Id),
    Function(FunctionName),
    /// A type and a word after it.
    Suffixed(Id, &'static str),
    VendorQualified(Id, Id),
    Vector(Id, Id),
    BitInt(&'static str, Id),
    Float(&'a str, &'static str),
    Decltype(Id),
    /// A constrained `auto`.
    Constrained(Id, &'static str),
    /// A template parameter by its number, and the argument that it refers to where it is read, unless that comes later.
    Parameter(u32, Option<Id>),
    /// A template parameter that a lambda declares: its kind and number.
    Declared(&'static str, u64),
    Declaration {
        kind: &'static str,
        ty: Option<Id>,
        parameter: Id,
    },

    /// A template argument that is itself a list.
    Pack(List),
    Expansion(Id),

    Literal {
        ty: Id,
        is_negative: bool,
        value: &'a str,
    },
    FunctionParameter(u64),
    Prefix(&'static Operator, Id),
    Postfix(&'static Operator, Id),
    Binary(&'static Operator, Id, Id),
    Conditional(Id, Id, Id),
    Call(Id, List),
    /// A type before the expressions that are converted to it, or are those of its object.
    Cast(Id, Id),
    NamedCast(&'static str, Id, Id),
    /// Expressions in parentheses.
    Arguments(List),
    Braced(Option<Id>, List),
    New {
        is_global: bool,
        is_array: bool,
        placement: List,
        ty: Id,
        arguments: Option<List>,
    },
    Fold {
        is_left: bool,
        operator: &'static Operator,
        pack: Id,
        start: Option<Id>,
    },
    FieldInit(Id, Id),
    IndexInit(Id, Option<Id>, Id),
    PackLength(Id),
    ListLength(List),
    /// A word with its operand in parentheses.
    Word(&'static str, Id),
    Requires {
        parameters: List,
        requirements: List,
    },
    Requirement {
        prefix: &'static str,
        expression: Id,
        constraint: Option<Id>,
        is_noexcept: bool,
    },
    Global(Id),
}

/// Nodes, which refer to each other by number.
#[derive(Default)]
pub(super) struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    listed: Vec<Id>,
    /// The whole name.
    pub root: Id,
    /// Suffixes of clones.
    pub clones: &'a str,
}

impl<'a> Tree<'a> {
    pub(super) fn add(&mut self, node: Node<'a>) -> Id {
        self.nodes.push(node);
        (self.nodes.len() - 1) as Id
    }

    pub(super) fn node(&self, id: Id) -> &Node<'a> {
        &self.nodes[id as usize]
    }

    pub(super) fn set(&mut self, id: Id, node: Node<'a>) {
        self.nodes[id as usize] = node;
    }

    pub(super) fn add_list(&mut self, ids: impl Iterator<Item = Id>) -> List {
        let start = self.listed.len();
        self.listed.extend(ids);
        List { start: start as u32, len: (self.listed.len() - start) as u32 }
    }

    pub(super) fn list(&self, list: List) -> &[Id] {
        &self.listed[list.start as usize..(list.start + list.len) as usize]
    }
}
