//! Expressions, which occur in template arguments, array bounds, `decltype` and constraints.

use super::operators::{Operands, Operator};
use super::parser::Parser;
use super::tree::{Id, List, Node};

impl<'a> Parser<'a> {
    pub(super) fn expression(&mut self) -> Option<Id> {
        self.nested(Self::read_expression)
    }

    fn expressions(&mut self, end: &'static str) -> Option<List> {
        self.list(|parser| parser.skip(end), Self::expression)
    }

    fn read_expression(&mut self) -> Option<Id> {
        let first = self.peek()?;
        match first {
            b'L' => return self.literal(),
            b'T' => return self.template_parameter(),
            b'f' if matches!(self.peek_second(), Some(b'p' | b'L')) && !self.is_fold() => {
                return self.function_parameter();
            }
            b'0'..=b'9' => return self.unresolved_name(),
            _ => {}
        }
        let code = [first, self.peek_second()?];
        if matches!(&code, b"on" | b"sr" | b"dn") {
            return self.unresolved_name();
        }
        self.at += 2;
        let node = match &code {
            b"gs" => match (self.peek(), self.peek_second()) {
                (Some(b'n'), Some(b'w' | b'a')) => {
                    self.at += 2;
                    self.new_expression(true)?
                }
                (Some(b'd'), Some(b'l' | b'a')) => Node::Global(self.expression()?),
                _ => Node::Global(self.unresolved_name()?),
            },
            b"nw" | b"na" => self.new_expression(false)?,
            b"cl" => {
                let function = self.expression()?;
                Node::Call(function, self.expressions("E")?)
            }
            b"cp" => {
                let function = self.unresolved_name()?;
                Node::Call(function, self.expressions("E")?)
            }
            b"cv" => {
                let ty = self.ty()?;
                let operand = if self.skip("_") {
                    let operands = self.expressions("E")?;
                    self.tree.add(Node::Arguments(operands))
                } else {
                    self.expression()?
                };
                Node::Cast(ty, operand)
            }
            b"tl" => {
                let ty = self.ty()?;
                Node::Braced(Some(ty), self.list(|parser| parser.skip("E"), Self::initializer)?)
            }
            b"il" => Node::Braced(None, self.list(|parser| parser.skip("E"), Self::initializer)?),
            b"dc" => self.named_cast("dynamic_cast")?,
            b"sc" => self.named_cast("static_cast")?,
            b"cc" => self.named_cast("const_cast")?,
            b"rc" => self.named_cast("reinterpret_cast")?,
            b"ti" => Node::Word("typeid ", self.ty()?),
            b"st" => Node::Word("sizeof ", self.ty()?),
            b"at" => Node::Word("alignof ", self.ty()?),
            b"nx" => Node::Word("noexcept", self.expression()?),
            b"sZ" => {
                Node::PackLength(if self.peek()? == b'T' { self.template_parameter()? } else { self.expression()? })
            }
            b"sP" => Node::ListLength(self.list(|parser| parser.skip("E"), Self::template_argument)?),
            b"sp" => Node::Expansion(self.expression()?),
            b"tr" => Node::Text("throw"),
            b"qu" => {
                let (condition, yes) = (self.expression()?, self.expression()?);
                Node::Conditional(condition, yes, self.expression()?)
            }
            b"ix" => {
                let array = self.expression()?;
                Node::Binary(Operator::find(code)?, array, self.expression()?)
            }
            [b'f', b'l' | b'r' | b'L' | b'R'] => self.fold(code[1])?,
            b"rq" | b"rQ" => self.requires(code[1] == b'Q')?,
            [b'u', b'0'..=b'9'] => {
                self.at -= 1;
                let function = self.source_name()?;
                Node::Call(function, self.list(|parser| parser.skip("E"), Self::template_argument)?)
            }
            _ => self.operation(code)?,
        };
        Some(self.tree.add(node))
    }

    fn operation(&mut self, code: [u8; 2]) -> Option<Node<'a>> {
        let operator = Operator::find(code)?;
        Some(match operator.operands {
            Operands::Unary => Node::Prefix(operator, self.expression()?),
            Operands::Step => {
                let is_prefix = self.skip("_");
                let operand = self.expression()?;
                if is_prefix { Node::Prefix(operator, operand) } else { Node::Postfix(operator, operand) }
            }
            Operands::Binary => {
                let left = self.expression()?;
                Node::Binary(operator, left, self.expression()?)
            }
            Operands::Member => {
                let object = self.expression()?;
                Node::Binary(operator, object, self.expression()?)
            }
            Operands::Other => return None,
        })
    }

    fn named_cast(&mut self, word: &'static str) -> Option<Node<'a>> {
        let ty = self.ty()?;
        Some(Node::NamedCast(word, ty, self.expression()?))
    }

    fn new_expression(&mut self, is_global: bool) -> Option<Node<'a>> {
        let is_array = self.text.as_bytes().get(self.at.checked_sub(1)?) == Some(&b'a');
        let placement = self.expressions("_")?;
        let ty = self.ty()?;
        let arguments = if self.skip("pi") {
            Some(self.expressions("E")?)
        } else if self.skip("E") {
            None
        } else {
            // A braced list.
            let list = self.expression()?;
            self.expect("E")?;
            Some(self.tree.add_list(std::iter::once(list)))
        };
        Some(Node::New { is_global, is_array, placement, ty, arguments })
    }

    /// Whether `fL` is an operator that is applied to a pack, and not a parameter of an outer function.
    fn is_fold(&self) -> bool {
        self.peek_second() == Some(b'L') && !self.text.as_bytes().get(self.at + 2).is_some_and(u8::is_ascii_digit)
    }

    fn fold(&mut self, kind: u8) -> Option<Node<'a>> {
        let code = [self.peek()?, self.peek_second()?];
        self.at += 2;
        let operator = Operator::find(code)?;
        let first = self.expression()?;
        let is_left = matches!(kind, b'l' | b'L');
        Some(match kind {
            b'l' | b'r' => Node::Fold { is_left, operator, pack: first, start: None },
            _ => Node::Fold { is_left, operator, pack: first, start: Some(self.expression()?) },
        })
    }

    fn function_parameter(&mut self) -> Option<Id> {
        self.at += 1;
        if self.skip("L") {
            self.digits()?;
        }
        self.expect("p")?;
        if self.skip("T") {
            return Some(self.tree.add(Node::FunctionParameter(0)));
        }
        self.qualifiers();
        let number = self.compact_number()?.checked_add(1)?;
        Some(self.tree.add(Node::FunctionParameter(number)))
    }

    fn initializer(&mut self) -> Option<Id> {
        let node = if self.skip("di") {
            let field = self.source_name()?;
            Node::FieldInit(field, self.initializer()?)
        } else if self.skip("dx") {
            let index = self.expression()?;
            Node::IndexInit(index, None, self.nested(Self::initializer)?)
        } else if self.skip("dX") {
            let (first, last) = (self.expression()?, self.expression()?);
            Node::IndexInit(first, Some(last), self.nested(Self::initializer)?)
        } else {
            return self.expression();
        };
        Some(self.tree.add(node))
    }

    /// Reads a literal, or the name of a function or a variable.
    pub(super) fn literal(&mut self) -> Option<Id> {
        self.expect("L")?;
        if self.skip("_Z") || self.peek() == Some(b'Z') {
            self.skip("Z");
            let encoding = self.encoding(false)?;
            self.expect("E")?;
            return Some(encoding);
        }
        let ty = self.ty()?;
        let is_negative = self.skip("n");
        let rest = &self.text[self.at..];
        let value = &rest[..rest.find('E')?];
        self.at += value.len() + 1;
        Some(self.tree.add(Node::Literal { ty, is_negative, value }))
    }

    /// Reads a name that depends on template parameters.
    fn unresolved_name(&mut self) -> Option<Id> {
        if self.skip("sr") {
            // Names of namespaces, or a type.
            if self.peek()?.is_ascii_digit() {
                let mut scope = None;
                let (start, substitutions) = (self.at, self.substitutions.len());
                while !self.skip("E") {
                    let Some(name) = self.simple_name(scope) else { break };
                    scope = Some(name);
                }
                // Older compilers write a type and a name, so that this `E` ends the expression.
                let is_name_next = self.peek().is_some_and(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
                if is_name_next && self.text.as_bytes().get(self.at - 1) == Some(&b'E') {
                    self.skip("on");
                    let name = self.unqualified_name(scope)?;
                    return self.with_unresolved_arguments(name);
                }
                self.at = start;
                self.substitutions.truncate(substitutions);
            }
            let scope = self.unresolved_type()?;
            return self.base_name(Some(scope));
        }
        self.base_name(None)
    }

    fn unresolved_type(&mut self) -> Option<Id> {
        let last_name = self.last_name;
        let ty = self.ty();
        self.last_name = last_name;
        ty
    }

    fn simple_name(&mut self, scope: Option<Id>) -> Option<Id> {
        let name = self.source_name()?;
        let name = self.with_unresolved_arguments(name)?;
        Some(match scope {
            Some(scope) => self.tree.add(Node::Scoped(scope, name)),
            None => name,
        })
    }

    fn base_name(&mut self, scope: Option<Id>) -> Option<Id> {
        let name = if self.skip("dn") {
            let name = match self.peek()? {
                b'0'..=b'9' => self.source_name()?,
                _ => self.unresolved_type()?,
            };
            self.tree.add(Node::DestructorOf(name))
        } else {
            self.skip("on");
            self.unqualified_name(None)?
        };
        let name = self.with_unresolved_arguments(name)?;
        Some(match scope {
            Some(scope) => self.tree.add(Node::Scoped(scope, name)),
            None => name,
        })
    }

    fn with_unresolved_arguments(&mut self, name: Id) -> Option<Id> {
        if self.peek() != Some(b'I') {
            return Some(name);
        }
        let (arguments, _) = self.template_arguments(false)?;
        Some(self.tree.add(Node::Template(name, arguments)))
    }

    fn requires(&mut self, has_parameters: bool) -> Option<Node<'a>> {
        let parameters = if has_parameters { self.parameters(|parser| parser.skip("_"))? } else { List::default() };
        let requirements = self.list(|parser| parser.skip("E"), Self::requirement)?;
        Some(Node::Requires { parameters, requirements })
    }

    fn requirement(&mut self) -> Option<Id> {
        let kind = self.peek()?;
        self.at += 1;
        let (mut constraint, mut is_noexcept) = (None, false);
        let (prefix, expression) = match kind {
            b'X' => {
                let expression = self.expression()?;
                is_noexcept = self.skip("N");
                if self.skip("R") {
                    constraint = Some(self.type_name()?);
                }
                ("", expression)
            }
            b'T' => ("typename ", self.ty()?),
            b'Q' => ("requires ", self.expression()?),
            _ => return None,
        };
        Some(self.tree.add(Node::Requirement { prefix, expression, constraint, is_noexcept }))
    }
}
