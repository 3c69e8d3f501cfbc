//! Names, with their scopes and template arguments.

use super::operators::Operator;
use super::parser::{NameState, Parser};
use super::tree::{Id, List, Node, Qualifiers};

/// The name of an anonymous namespace begins with this, and one more byte and an `N`.
const ANONYMOUS: &str = "_GLOBAL_";

impl<'a> Parser<'a> {
    /// Reads the name of a function, a variable or a type.
    pub(super) fn name(&mut self, state: &mut NameState) -> Option<Id> {
        match self.peek()? {
            b'N' => self.nested(|parser| parser.nested_name(state)),
            b'Z' => self.nested(|parser| parser.local_name(state)),
            b'S' if self.peek_second() != Some(b't') => {
                let class = self.substitution(false)?;
                if self.peek() == Some(b'I') { self.with_arguments(class, state) } else { Some(class) }
            }
            _ => {
                let scope = self.skip("St").then(|| self.tree.add(Node::Text("std")));
                let name = self.unqualified_name(scope)?;
                if self.peek() != Some(b'I') {
                    return Some(name);
                }
                self.substitutable(name);
                self.with_arguments(name, state)
            }
        }
    }

    /// Reads template arguments of a name. Those of an encoding are what its template parameters refer to.
    fn with_arguments(&mut self, name: Id, state: &mut NameState) -> Option<Id> {
        let (arguments, constraint) = self.template_arguments(!state.is_type)?;
        state.constraint = constraint;
        Some(self.tree.add(Node::Template(name, arguments)))
    }

    pub(super) fn qualifiers(&mut self) -> Qualifiers {
        let is_restrict = self.skip("r");
        let is_volatile = self.skip("V");
        let is_const = self.skip("K");
        Qualifiers { is_const, is_volatile, is_restrict, reference: "" }
    }

    fn nested_name(&mut self, state: &mut NameState) -> Option<Id> {
        self.expect("N")?;
        state.has_object = self.skip("H");
        state.qualifiers = self.qualifiers();
        state.qualifiers.reference = match self.peek() {
            Some(b'R') => "&",
            Some(b'O') => "&&",
            _ => "",
        };
        self.at += usize::from(!state.qualifiers.reference.is_empty());
        let mut name: Option<Id> = None;
        loop {
            let mut is_new = true;
            let longer = match (self.peek()?, self.peek_second()) {
                (b'E', _) => {
                    self.at += 1;
                    return name;
                }
                (b'S', Some(b't')) if name.is_none() => {
                    self.at += 2;
                    is_new = false;
                    self.tree.add(Node::Text("std"))
                }
                (b'S', _) if name.is_none() => {
                    is_new = false;
                    self.substitution(true)?
                }
                (b'I', _) => {
                    let name = name?;
                    self.with_arguments(name, state)?
                }
                (b'T', _) if name.is_none() => self.template_parameter()?,
                (b'D', Some(b't' | b'T')) if name.is_none() => self.decltype()?,
                (b'M', _) => {
                    // The scope of a lambda in the initializer of a member, which is the name before it.
                    self.at += 1;
                    is_new = false;
                    name?
                }
                _ => {
                    state.constraint = None;
                    self.unqualified_name(name)?
                }
            };
            if is_new && self.peek() != Some(b'E') {
                self.substitutable(longer);
            }
            name = Some(longer);
        }
    }

    fn local_name(&mut self, state: &mut NameState) -> Option<Id> {
        self.expect("Z")?;
        let function = self.encoding(false)?;
        self.expect("E")?;
        // The return type would seem to be that of the local function.
        if let Node::Encoding(name, mut signature) = *self.tree.node(function) {
            signature.result = None;
            self.tree.set(function, Node::Encoding(name, signature));
        }
        if self.skip("s") {
            self.discriminator();
            let literal = self.tree.add(Node::Text("string literal"));
            return Some(self.tree.add(Node::Scoped(function, literal)));
        }
        let mut scope = function;
        if self.skip("d") {
            let number = self.compact_number()?;
            let argument = self.tree.add(Node::DefaultArgument(number));
            scope = self.tree.add(Node::Scoped(function, argument));
        }
        let name = self.name(state)?;
        self.discriminator();
        Some(self.tree.add(Node::Scoped(scope, name)))
    }

    /// Skips what distinguishes local entities of the same name.
    fn discriminator(&mut self) {
        let start = self.at;
        let is_read = if self.skip("__") {
            self.digits().is_some() && self.skip("_")
        } else {
            self.skip("_") && self.peek().is_some_and(|byte| byte.is_ascii_digit())
        };
        if is_read {
            self.digits();
        } else {
            self.at = start;
        }
    }

    /// Reads a name in a scope.
    pub(super) fn unqualified_name(&mut self, scope: Option<Id>) -> Option<Id> {
        let mut module = None;
        while self.peek() == Some(b'W') {
            module = Some(self.module(module)?);
        }
        // A constrained friend, which is mangled like a member of its class.
        self.skip("F");
        let mut name = match (self.peek()?, self.peek_second()) {
            // Internal linkage.
            (b'L', _) => {
                self.at += 1;
                let name = self.unqualified_name(None)?;
                self.discriminator();
                name
            }
            (b'0'..=b'9', _) => self.source_name()?,
            (b'D', Some(b'C')) => {
                self.at += 2;
                let names = self.list(|parser| parser.skip("E"), Self::source_name)?;
                self.tree.add(Node::StructuredBinding(names))
            }
            (b'C', _) => {
                self.at += 1;
                let is_inherited = self.skip("I");
                self.peek().filter(u8::is_ascii_digit)?;
                self.at += 1;
                if is_inherited {
                    // An inherited constructor has the name of the class that it is from.
                    self.ty()?;
                }
                self.tree.add(Node::Constructor(self.last_name))
            }
            (b'D', Some(b'0'..=b'9')) => {
                self.at += 2;
                self.tree.add(Node::Destructor(self.last_name))
            }
            (b'U', Some(b't')) => {
                self.at += 2;
                let number = self.compact_number()?;
                self.tree.add(Node::Unnamed(number + 1))
            }
            (b'U', Some(b'l')) => self.nested(Self::lambda)?,
            (b'a'..=b'z', _) => self.operator_name()?,
            _ => return None,
        };
        if let Some(module) = module {
            name = self.tree.add(Node::Attached(name, module));
        }
        while self.skip("B") {
            let tag = self.identifier()?;
            name = self.tree.add(Node::Tagged(name, tag));
        }
        Some(match scope {
            Some(scope) => self.tree.add(Node::Scoped(scope, name)),
            None => name,
        })
    }

    /// Reads the name of a module or of a partition in one, which later names can refer to.
    pub(super) fn module(&mut self, parent: Option<Id>) -> Option<Id> {
        let mut module = parent;
        while self.skip("W") {
            let separator = if self.skip("P") { ":" } else { "." };
            let name = self.identifier()?;
            let separator = if module.is_none() && separator == "." { "" } else { separator };
            let id = self.tree.add(Node::SubModule(module, separator, name));
            module = Some(self.substitutable(id));
        }
        module
    }

    fn identifier(&mut self) -> Option<&'a str> {
        let len = usize::try_from(self.number()?).ok()?;
        let identifier = self.text.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(identifier).filter(|identifier| !identifier.is_empty())
    }

    pub(super) fn source_name(&mut self) -> Option<Id> {
        let name = self.identifier()?;
        let is_anonymous = name.strip_prefix(ANONYMOUS).is_some_and(|rest| rest.as_bytes().get(1) == Some(&b'N'));
        self.last_name = if is_anonymous { "(anonymous namespace)" } else { name };
        Some(self.tree.add(Node::Text(self.last_name)))
    }

    fn operator_name(&mut self) -> Option<Id> {
        let code = [self.peek()?, self.peek_second()?];
        self.at += 2;
        let node = match &code {
            b"cv" => {
                let (is_forward, is_conversion) = (self.is_forward, self.is_conversion);
                let last_name = self.last_name;
                (self.is_forward, self.is_conversion) = (true, true);
                let ty = self.ty();
                (self.is_forward, self.is_conversion, self.last_name) = (is_forward, is_conversion, last_name);
                Node::Conversion(ty?)
            }
            b"li" => Node::LiteralOperator(self.identifier()?),
            [b'v', b'0'..=b'9'] => Node::VendorOperator(self.identifier()?),
            _ => Node::OperatorName(Operator::find(code)?),
        };
        Some(self.tree.add(node))
    }

    fn lambda(&mut self) -> Option<Id> {
        self.expect("Ul")?;
        let outer = self.lambda.replace(Vec::new());
        let is_forward = std::mem::take(&mut self.is_forward);
        let closure = (|| {
            let head = self.list(|parser| !parser.is_declaration(), Self::declaration)?;
            let constraint = if self.skip("Q") { Some(self.expression()?) } else { None };
            let parameters = self.parameters(|parser| matches!(parser.peek(), Some(b'E' | b'Q')))?;
            let constraint = if self.skip("Q") { Some(self.expression()?) } else { constraint };
            self.expect("E")?;
            let number = self.compact_number()? + 1;
            Some(self.tree.add(Node::Lambda { head, parameters, number, constraint }))
        })();
        (self.lambda, self.is_forward) = (outer, is_forward);
        closure
    }

    /// Whether the declaration of a template parameter is next.
    pub(super) fn is_declaration(&mut self) -> bool {
        self.peek() == Some(b'T') && matches!(self.peek_second(), Some(b'y' | b'n' | b't' | b'p' | b'k'))
    }

    /// Reads the declaration of a template parameter.
    pub(super) fn declaration(&mut self) -> Option<Id> {
        self.expect("T")?;
        let kind = self.peek()?;
        self.at += 1;
        if kind == b'p' {
            let declaration = self.nested(Self::declaration)?;
            return Some(self.tree.add(Node::Expansion(declaration)));
        }
        let (kind, name, ty) = match kind {
            b'y' => ("typename ", "$T", None),
            b'n' => ("", "$N", Some(self.ty()?)),
            b'k' => ("", "$T", Some(self.type_name()?)),
            _ => {
                self.list(|parser| parser.skip("E"), |parser| parser.nested(Self::declaration))?;
                ("template<typename> typename ", "$TT", None)
            }
        };
        let declared = self.lambda.as_mut()?;
        let number = declared.len() as u64;
        let parameter = self.tree.add(Node::Declared(name, number));
        declared.push(parameter);
        Some(self.tree.add(Node::Declaration { kind, ty, parameter }))
    }

    /// Reads a name or a type that occurred before. `is_scope`: whether a name in it may follow.
    pub(super) fn substitution(&mut self, is_scope: bool) -> Option<Id> {
        self.expect("S")?;
        let code = self.peek()?;
        if code == b'_' || code.is_ascii_digit() || code.is_ascii_uppercase() {
            let number = self.sequence_number()?;
            let id = self.substitutions.get(number).copied()?;
            if let Some(name) = self.name_of_class(id) {
                self.last_name = name;
            }
            return Some(id);
        }
        self.at += 1;
        // Constructors are named after the template, not after the alias.
        let is_whole = is_scope && matches!(self.peek(), Some(b'C' | b'D'));
        let (alias, whole, name) = match code {
            b'a' => ("std::allocator", "std::allocator", "allocator"),
            b'b' => ("std::basic_string", "std::basic_string", "basic_string"),
            b's' => (
                "std::string",
                "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
                "basic_string",
            ),
            b'i' => ("std::istream", "std::basic_istream<char, std::char_traits<char> >", "basic_istream"),
            b'o' => ("std::ostream", "std::basic_ostream<char, std::char_traits<char> >", "basic_ostream"),
            b'd' => ("std::iostream", "std::basic_iostream<char, std::char_traits<char> >", "basic_iostream"),
            _ => return None,
        };
        self.last_name = name;
        let mut id = self.tree.add(Node::Text(if is_whole { whole } else { alias }));
        if self.peek() == Some(b'B') {
            while self.skip("B") {
                let tag = self.identifier()?;
                id = self.tree.add(Node::Tagged(id, tag));
            }
            self.substitutable(id);
        }
        Some(id)
    }

    /// The identifier of a class, without scopes and template arguments.
    fn name_of_class(&self, id: Id) -> Option<&'a str> {
        match *self.tree.node(id) {
            Node::Text(name) => Some(name.rsplit("::").next().unwrap_or(name)),
            Node::Scoped(_, name) | Node::Template(name, _) | Node::Tagged(name, _) | Node::Attached(name, _) => {
                self.name_of_class(name)
            }
            _ => None,
        }
    }

    /// Reads template arguments and the constraint at their end.
    pub(super) fn template_arguments(&mut self, is_encoding: bool) -> Option<(List, Option<Id>)> {
        self.expect("I")?;
        let last_name = self.last_name;
        let read = |parser: &mut Self| {
            let arguments =
                parser.list(|parser| matches!(parser.peek(), Some(b'E' | b'Q')), Self::template_argument)?;
            if is_encoding {
                parser.arguments.clear();
                parser.arguments.extend_from_slice(parser.tree.list(arguments));
            }
            let constraint = if parser.skip("Q") { Some(parser.expression()?) } else { None };
            parser.expect("E")?;
            Some((arguments, constraint))
        };
        let is_conversion = std::mem::take(&mut self.is_conversion);
        let arguments = self.nested(read);
        (self.is_conversion, self.last_name) = (is_conversion, last_name);
        arguments
    }

    pub(super) fn template_argument(&mut self) -> Option<Id> {
        match self.peek()? {
            b'X' => {
                self.at += 1;
                let expression = self.expression()?;
                self.expect("E")?;
                Some(expression)
            }
            b'L' => self.nested(Self::literal),
            b'I' | b'J' => {
                self.at += 1;
                let pack = |parser: &mut Self| parser.list(|parser| parser.skip("E"), Self::template_argument);
                let elements = self.nested(pack)?;
                Some(self.tree.add(Node::Pack(elements)))
            }
            b'T' if self.is_declaration() => {
                let outer = self.lambda.replace(Vec::new());
                let declaration = self.declaration();
                self.lambda = outer;
                declaration?;
                self.nested(Self::template_argument)
            }
            _ => self.ty(),
        }
    }

    /// Reads a template parameter, as what it refers to.
    pub(super) fn template_parameter(&mut self) -> Option<Id> {
        self.expect("T")?;
        let level = if self.skip("L") { Some(self.compact_number()?) } else { None };
        let number = u32::try_from(self.compact_number()?).ok()?;
        if let Some(declared) = &self.lambda {
            let declared = declared.get(number as usize).copied();
            return Some(self.tree.add(Node::Parameter(number, declared)));
        }
        if self.is_forward && level.is_none() {
            let id = self.tree.add(Node::Parameter(number, None));
            self.forward.push((number, id));
            return Some(id);
        }
        let argument = *self.arguments.get(number as usize)?;
        Some(self.tree.add(Node::Parameter(number, Some(argument))))
    }
}
