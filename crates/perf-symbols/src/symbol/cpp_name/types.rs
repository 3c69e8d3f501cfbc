//! Types.

use super::parser::{NameState, Parser};
use super::tree::{FunctionName, Id, Node, Qualifiers, Suffix};

impl<'a> Parser<'a> {
    /// Reads a type.
    pub(super) fn ty(&mut self) -> Option<Id> {
        let first = self.peek()?;
        if let Some(builtin) = builtin(first) {
            self.at += 1;
            return Some(self.tree.add(Node::Text(builtin)));
        }
        self.nested(|parser| parser.compound_type(first))
    }

    /// Reads the name of a class.
    pub(super) fn type_name(&mut self) -> Option<Id> {
        let mut state = NameState { is_type: true, ..NameState::default() };
        self.name(&mut state)
    }

    fn compound_type(&mut self, first: u8) -> Option<Id> {
        let node = match first {
            b'r' | b'V' | b'K' => {
                let qualifiers = self.qualifiers();
                let inner = self.function_type(qualifiers);
                match inner {
                    Some(function) => function?,
                    None => Node::Qualified(self.ty()?, qualifiers),
                }
            }
            b'F' => self.function_type(Qualifiers::default())??,
            b'P' => self.modified(Node::Pointer)?,
            b'R' => self.modified(|ty| Node::Reference(ty, "&"))?,
            b'O' => self.modified(|ty| Node::Reference(ty, "&&"))?,
            b'C' => self.modified(|ty| Node::Suffixed(ty, " _Complex"))?,
            b'G' => self.modified(|ty| Node::Suffixed(ty, " _Imaginary"))?,
            b'M' => {
                self.at += 1;
                let class = self.ty()?;
                Node::MemberPointer { class, member: self.ty()? }
            }
            b'A' => {
                self.at += 1;
                let dimension = match self.peek()? {
                    b'_' => None,
                    b'0'..=b'9' => {
                        let digits = self.digits()?;
                        Some(self.tree.add(Node::Text(digits)))
                    }
                    _ => Some(self.expression()?),
                };
                self.expect("_")?;
                Node::Array(dimension, self.ty()?)
            }
            b'U' if !matches!(self.peek_second(), Some(b't' | b'l')) => {
                self.at += 1;
                let mut qualifier = self.source_name()?;
                if self.peek() == Some(b'I') {
                    let (arguments, _) = self.template_arguments(false)?;
                    qualifier = self.tree.add(Node::Template(qualifier, arguments));
                }
                Node::VendorQualified(self.ty()?, qualifier)
            }
            b'u' => {
                self.at += 1;
                let mut name = self.source_name()?;
                if self.peek() == Some(b'I') {
                    let (arguments, _) = self.template_arguments(false)?;
                    name = self.tree.add(Node::Template(name, arguments));
                }
                return Some(self.substitutable(name));
            }
            b'D' => match self.function_type(Qualifiers::default()) {
                Some(function) => function?,
                None => return self.extended_type(),
            },
            b'T' if !matches!(self.peek_second(), Some(b's' | b'u' | b'e')) => {
                let parameter = self.template_parameter()?;
                self.substitutable(parameter);
                // After a conversion operator, the arguments are those of the operator.
                if self.is_conversion || self.peek() != Some(b'I') {
                    return Some(parameter);
                }
                let (arguments, _) = self.template_arguments(false)?;
                Node::Template(parameter, arguments)
            }
            b'S' if self.peek_second() != Some(b't') => {
                let class = self.substitution(false)?;
                if self.peek() != Some(b'I') || (self.is_conversion && self.is_end_of_conversion()) {
                    return Some(class);
                }
                let (arguments, _) = self.template_arguments(false)?;
                Node::Template(class, arguments)
            }
            _ => {
                if first == b'T' {
                    // `struct`, `union` or `enum`, which c++filt does not show.
                    self.at += 2;
                }
                let name = self.type_name()?;
                return Some(self.substitutable(name));
            }
        };
        let id = self.tree.add(node);
        Some(self.substitutable(id))
    }

    /// Whether the template arguments that are next are those of the conversion operator to the type before them, since no other
    /// ones follow.
    fn is_end_of_conversion(&mut self) -> bool {
        let (at, nodes) = (self.at, self.substitutions.len());
        let forward = self.forward.len();
        let is_last = self.template_arguments(false).is_some() && self.peek() != Some(b'I');
        self.at = at;
        self.substitutions.truncate(nodes);
        self.forward.truncate(forward);
        is_last
    }

    fn modified(&mut self, node: impl FnOnce(Id) -> Node<'a>) -> Option<Node<'a>> {
        self.at += 1;
        Some(node(self.ty()?))
    }

    /// Reads a function type, if one is next.
    fn function_type(&mut self, mut qualifiers: Qualifiers) -> Option<Option<Node<'a>>> {
        let is_suffix = self.peek() == Some(b'D') && matches!(self.peek_second(), Some(b'o' | b'O' | b'w' | b'x'));
        if self.peek() != Some(b'F') && !is_suffix {
            return None;
        }
        let mut read = || {
            let mut suffix = None;
            if self.skip("Do") {
                suffix = Some(Suffix::Text(" noexcept"));
            } else if self.skip("DO") {
                suffix = Some(Suffix::Noexcept(self.expression()?));
                self.expect("E")?;
            } else if self.skip("Dw") {
                suffix = Some(Suffix::Throw(self.list(|parser| parser.skip("E"), Self::ty)?));
            }
            if self.skip("Dx") {
                suffix = suffix.or(Some(Suffix::Text(" transaction_safe")));
            }
            self.expect("F")?;
            // `extern "C"`, which c++filt does not show.
            self.skip("Y");
            let result = Some(self.ty()?);
            let is_end = |parser: &mut Self| {
                let rest = parser.text.as_bytes().get(parser.at..).unwrap_or_default();
                rest.starts_with(b"E") || rest.starts_with(b"RE") || rest.starts_with(b"OE")
            };
            let parameters = self.parameters(is_end)?;
            qualifiers.reference = if self.skip("R") {
                "&"
            } else if self.skip("O") {
                "&&"
            } else {
                ""
            };
            self.expect("E")?;
            Some(Node::Function(FunctionName {
                result,
                parameters,
                qualifiers,
                suffix,
                has_object: false,
                constraint: None,
            }))
        };
        Some(read())
    }

    /// Reads a type whose code begins with `D`.
    fn extended_type(&mut self) -> Option<Id> {
        let code = self.peek_second()?;
        if matches!(code, b't' | b'T') {
            let ty = self.decltype()?;
            return Some(self.substitutable(ty));
        }
        self.at += 2;
        let text = match code {
            b'd' => "decimal64",
            b'e' => "decimal128",
            b'f' => "decimal32",
            b'h' => "half",
            b'i' => "char32_t",
            b's' => "char16_t",
            b'u' => "char8_t",
            b'n' => "decltype(nullptr)",
            b'a' => "auto",
            b'c' => "decltype(auto)",
            b'F' => return self.float(),
            b'B' | b'U' => {
                let size = match self.peek()? {
                    b'0'..=b'9' => {
                        let digits = self.digits()?;
                        self.tree.add(Node::Text(digits))
                    }
                    _ => self.expression()?,
                };
                self.expect("_")?;
                return Some(
                    self.tree.add(Node::BitInt(if code == b'B' { "_BitInt(" } else { "unsigned _BitInt(" }, size)),
                );
            }
            b'k' | b'K' => {
                let concept = self.type_name()?;
                let placeholder = if code == b'k' { " auto" } else { " decltype(auto)" };
                return Some(self.tree.add(Node::Constrained(concept, placeholder)));
            }
            b'p' => {
                let pattern = self.ty()?;
                let id = self.tree.add(Node::Expansion(pattern));
                return Some(self.substitutable(id));
            }
            b'v' => {
                let dimension = match self.peek()? {
                    b'_' => {
                        self.at += 1;
                        self.expression()?
                    }
                    _ => {
                        let digits = self.digits()?;
                        self.tree.add(Node::Text(digits))
                    }
                };
                self.expect("_")?;
                let element = if self.skip("p") { self.tree.add(Node::Text("pixel")) } else { self.ty()? };
                let id = self.tree.add(Node::Vector(dimension, element));
                return Some(self.substitutable(id));
            }
            _ => return None,
        };
        Some(self.tree.add(Node::Text(text)))
    }

    /// Reads a floating-point type by its number of bits.
    fn float(&mut self) -> Option<Id> {
        let bits = self.digits()?;
        let suffix = match self.peek()? {
            b'b' if bits == "16" => None,
            b'x' => Some("x"),
            b'_' => Some(""),
            _ => return None,
        };
        self.at += 1;
        Some(self.tree.add(suffix.map_or(Node::Text("std::bfloat16_t"), |suffix| Node::Float(bits, suffix))))
    }

    pub(super) fn decltype(&mut self) -> Option<Id> {
        self.at += 2;
        let expression = self.expression()?;
        self.expect("E")?;
        Some(self.tree.add(Node::Decltype(expression)))
    }
}

fn builtin(code: u8) -> Option<&'static str> {
    Some(match code {
        b'a' => "signed char",
        b'b' => "bool",
        b'c' => "char",
        b'd' => "double",
        b'e' => "long double",
        b'f' => "float",
        b'g' => "__float128",
        b'h' => "unsigned char",
        b'i' => "int",
        b'j' => "unsigned int",
        b'l' => "long",
        b'm' => "unsigned long",
        b'n' => "__int128",
        b'o' => "unsigned __int128",
        b's' => "short",
        b't' => "unsigned short",
        b'v' => "void",
        b'w' => "wchar_t",
        b'x' => "long long",
        b'y' => "unsigned long long",
        b'z' => "...",
        _ => return None,
    })
}
