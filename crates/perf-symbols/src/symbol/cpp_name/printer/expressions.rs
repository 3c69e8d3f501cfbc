//! Expressions.

use super::super::operators::{Operands, Operator};
use super::super::tree::{Id, Node, Qualifiers};
use super::Printer;
use std::fmt::Write;

impl Printer<'_, '_> {
    /// Whether an operand needs no parentheses.
    pub(crate) fn is_simple(&self, id: Id) -> bool {
        match *self.tree.node(id) {
            // Those in functions are not.
            Node::Scoped(scope, _) => !matches!(self.tree.node(scope), Node::Encoding(..)),
            Node::Text(_) | Node::Braced(..) | Node::FunctionParameter(_) => true,
            _ => false,
        }
    }

    fn operand(&mut self, id: Id) -> Option<()> {
        if self.is_simple(id) {
            return self.node(id);
        }
        self.text("(");
        self.node(id)?;
        self.text(")");
        Some(())
    }

    pub(crate) fn expression(&mut self, id: Id) -> Option<()> {
        match *self.tree.node(id) {
            Node::Literal { ty, is_negative, value } => self.literal(ty, is_negative, value)?,
            Node::FunctionParameter(0) => self.text("this"),
            Node::FunctionParameter(number) => {
                let _ = write!(self.out, "{{parm#{number}}}");
            }
            Node::Prefix(operator, operand) => {
                self.text(operator.text);
                // The address of a member function has no parameters.
                match *self.tree.node(operand) {
                    Node::Encoding(name, function)
                        if operator.code == *b"ad"
                            && function.qualifiers == Qualifiers::default()
                            && matches!(self.tree.node(name), Node::Scoped(..))
                            && self.is_simple(name) =>
                    {
                        self.node(name)?;
                    }
                    _ => self.operand(operand)?,
                }
            }
            Node::Postfix(operator, operand) => {
                self.operand(operand)?;
                self.text(operator.text);
            }
            Node::Binary(operator, left, right) => self.binary(operator, left, right)?,
            Node::Conditional(condition, yes, no) => {
                self.operand(condition)?;
                self.text("?");
                self.operand(yes)?;
                self.text(" : ");
                self.operand(no)?;
            }
            Node::Call(function, arguments) => {
                // The types of parameters of a known function are not those of the arguments.
                match *self.tree.node(function) {
                    Node::Encoding(name, _) => self.operand(name)?,
                    _ => self.operand(function)?,
                }
                self.text("(");
                self.list(arguments)?;
                self.text(")");
            }
            Node::Cast(ty, operand) => {
                self.text("(");
                self.node(ty)?;
                self.text(")");
                match self.tree.node(operand) {
                    Node::Arguments(_) => self.node(operand)?,
                    _ => self.operand(operand)?,
                }
            }
            Node::Arguments(arguments) => {
                self.text("(");
                self.list(arguments)?;
                self.text(")");
            }
            Node::NamedCast(word, ty, operand) => {
                self.text(word);
                self.text("<");
                self.node(ty)?;
                self.text(">(");
                self.node(operand)?;
                self.text(")");
            }
            Node::Braced(ty, elements) => {
                if let Some(ty) = ty {
                    self.node(ty)?;
                }
                self.text("{");
                self.list(elements)?;
                self.text("}");
            }
            Node::New { is_global, is_array, placement, ty, arguments } => {
                self.text(if is_global { "::new" } else { "new" });
                self.text(if is_array { "[] " } else { " " });
                if !self.tree.list(placement).is_empty() {
                    self.text("(");
                    self.list(placement)?;
                    self.text(") ");
                }
                self.node(ty)?;
                if let Some(arguments) = arguments {
                    self.text("(");
                    self.list(arguments)?;
                    self.text(")");
                }
            }
            Node::Fold { is_left, operator, pack, start } => {
                // The pack is not expanded by commas but by the operator.
                self.text("(");
                match (is_left, start) {
                    (true, None) => self.text("..."),
                    _ => self.operand(pack)?,
                }
                self.text(operator.text);
                match start {
                    None if is_left => self.operand(pack)?,
                    None => self.text("..."),
                    Some(start) => {
                        self.text("...");
                        self.text(operator.text);
                        self.operand(start)?;
                    }
                }
                self.text(")");
            }
            Node::FieldInit(field, value) => {
                self.text(".");
                self.node(field)?;
                self.initial(value)?;
            }
            Node::IndexInit(first, last, value) => {
                self.text("[");
                self.node(first)?;
                if let Some(last) = last {
                    self.text(" ... ");
                    self.node(last)?;
                }
                self.text("]");
                self.initial(value)?;
            }
            Node::PackLength(pack) => {
                let len = match *self.tree.node(pack) {
                    Node::Parameter(number, argument) => {
                        match self.argument(number, argument, self.scope).map(|(id, _)| self.tree.node(id)) {
                            Some(&Node::Pack(elements)) => self.tree.list(elements).len(),
                            _ => 1,
                        }
                    }
                    _ => {
                        self.text("sizeof...(");
                        self.node(pack)?;
                        self.text(")");
                        return Some(());
                    }
                };
                let _ = write!(self.out, "{len}");
            }
            Node::ListLength(elements) => {
                let _ = write!(self.out, "{}", self.tree.list(elements).len());
            }
            Node::Word(word, operand) => {
                self.text(word);
                self.text("(");
                self.node(operand)?;
                self.text(")");
            }
            Node::Requires { parameters, requirements } => {
                self.text("requires");
                if !self.tree.list(parameters).is_empty() {
                    self.text(" (");
                    self.list(parameters)?;
                    self.text(")");
                }
                self.text(" {");
                let tree = self.tree;
                for &requirement in tree.list(requirements) {
                    self.text(" ");
                    self.node(requirement)?;
                }
                self.text(" }");
            }
            Node::Requirement { prefix, expression, constraint, is_noexcept } => {
                self.text(prefix);
                let is_compound = constraint.is_some() || is_noexcept;
                self.text(if is_compound { "{" } else { "" });
                self.node(expression)?;
                self.text(if is_compound { "}" } else { "" });
                self.text(if is_noexcept { " noexcept" } else { "" });
                if let Some(constraint) = constraint {
                    self.text(" -> ");
                    self.node(constraint)?;
                }
                self.text(";");
            }
            Node::Global(operand) => {
                self.text("::");
                self.node(operand)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Writes what a member is initialized with.
    fn initial(&mut self, value: Id) -> Option<()> {
        if matches!(self.tree.node(value), Node::FieldInit(..) | Node::IndexInit(..)) {
            return self.node(value);
        }
        self.text("=");
        self.operand(value)
    }

    fn binary(&mut self, operator: &Operator, left: Id, right: Id) -> Option<()> {
        // Otherwise it would end the template arguments.
        let is_enclosed = operator.code == *b"gt";
        if is_enclosed {
            self.text("(");
        }
        self.operand(left)?;
        if operator.code == *b"ix" {
            self.text("[");
            self.node(right)?;
            self.text("]");
        } else {
            self.text(operator.text);
            if operator.operands == Operands::Member { self.node(right)? } else { self.operand(right)? }
        }
        if is_enclosed {
            self.text(")");
        }
        Some(())
    }

    /// Writes a literal as in C++ source where it has a suffix of its type.
    fn literal(&mut self, ty: Id, is_negative: bool, value: &str) -> Option<()> {
        let suffix = match *self.tree.node(ty) {
            Node::Text("int") => Some(""),
            Node::Text("unsigned int") => Some("u"),
            Node::Text("long") => Some("l"),
            Node::Text("unsigned long") => Some("ul"),
            Node::Text("long long") => Some("ll"),
            Node::Text("unsigned long long") => Some("ull"),
            Node::Text("bool") if !is_negative && value == "0" => {
                self.text("false");
                return Some(());
            }
            Node::Text("bool") if !is_negative && value == "1" => {
                self.text("true");
                return Some(());
            }
            _ => None,
        };
        if value.is_empty() {
            return self.node(ty);
        }
        if suffix.is_none() {
            self.text("(");
            self.node(ty)?;
            self.text(")");
        }
        self.text(if is_negative { "-" } else { "" });
        let is_float = matches!(*self.tree.node(ty), Node::Text("float" | "double" | "long double" | "__float128"));
        if is_float {
            let _ = write!(self.out, "[{value}]");
        } else {
            self.text(value);
        }
        self.text(suffix.unwrap_or_default());
        Some(())
    }
}
