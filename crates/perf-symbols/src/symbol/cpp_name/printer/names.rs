//! Names, and types that are not written around a declarator.

use super::super::tree::{Id, Node};
use super::Printer;
use std::fmt::Write;

impl Printer<'_, '_> {
    /// Writes a node that is not a type around a declarator.
    pub(crate) fn whole(&mut self, id: Id) -> Option<()> {
        match *self.tree.node(id) {
            Node::Text(text) => self.text(text),
            Node::Tagged(name, tag) => {
                self.node(name)?;
                let _ = write!(self.out, "[abi:{tag}]");
            }
            Node::Attached(name, module) => {
                self.node(name)?;
                self.text("@");
                self.node(module)?;
            }
            Node::SubModule(parent, separator, name) => {
                if let Some(parent) = parent {
                    self.node(parent)?;
                }
                self.text(separator);
                self.text(name);
            }
            Node::Scoped(scope, name) => {
                self.node(scope)?;
                self.text("::");
                self.node(name)?;
            }
            Node::Template(name, arguments) => {
                self.node(name)?;
                self.template_arguments(arguments)?;
            }
            Node::Constructor(class) => self.text(class),
            Node::Destructor(class) => {
                self.text("~");
                self.text(class);
            }
            Node::DestructorOf(class) => {
                self.text("~");
                self.node(class)?;
            }
            Node::OperatorName(operator) => {
                self.text("operator");
                if operator.text.starts_with(|letter: char| letter.is_ascii_lowercase()) {
                    self.text(" ");
                }
                self.text(operator.text.trim_end());
            }
            Node::LiteralOperator(name) => {
                let _ = write!(self.out, "operator\"\" {name}");
            }
            Node::VendorOperator(name) => {
                let _ = write!(self.out, "operator {name}");
            }
            Node::Conversion(ty) => {
                self.text("operator ");
                self.node(ty)?;
            }
            Node::Lambda { head, parameters, number, constraint } => {
                self.text("{lambda");
                if !self.tree.list(head).is_empty() {
                    self.text("<");
                    self.list(head)?;
                    self.text(">");
                }
                self.text("(");
                self.lambdas += 1;
                self.list(parameters)?;
                self.lambdas -= 1;
                self.text(")");
                self.constraint(constraint)?;
                let _ = write!(self.out, "#{number}}}");
            }
            Node::Unnamed(number) => {
                let _ = write!(self.out, "{{unnamed type#{number}}}");
            }
            Node::StructuredBinding(names) => {
                self.text("[");
                self.list(names)?;
                self.text("]");
            }
            Node::DefaultArgument(number) => {
                let _ = write!(self.out, "{{default arg#{}}}", number.saturating_add(1));
            }
            Node::Encoding(name, function) => {
                let outer = self.scope;
                let arguments = self.arguments_of(name);
                if !self.tree.list(arguments).is_empty() {
                    self.scopes.push((arguments, outer));
                    self.scope = Some(self.scopes.len() - 1);
                }
                if let Some(result) = function.result {
                    self.left(result)?;
                    if !self.is_declarator(result) {
                        self.text(" ");
                    }
                }
                self.scoped(outer, |printer| printer.node(name))?;
                self.signature(&function)?;
                self.scope = outer;
            }
            Node::QualifiedName(name, qualifiers) => {
                self.node(name)?;
                self.qualifiers(qualifiers);
            }
            Node::Special(description, name) => {
                self.text(description);
                self.node(name)?;
            }
            Node::ConstructionVtable { class, base } => {
                self.text("construction vtable for ");
                self.node(base)?;
                self.text("-in-");
                self.node(class)?;
            }
            Node::ReferenceTemporary(name, number) => {
                let _ = write!(self.out, "reference temporary #{number} for ");
                self.node(name)?;
            }
            Node::Suffixed(inner, word) => {
                self.node(inner)?;
                self.text(word);
            }
            Node::Vector(dimension, element) => {
                self.node(element)?;
                self.text(" __vector(");
                self.node(dimension)?;
                self.text(")");
            }
            Node::BitInt(word, size) => {
                self.text(word);
                self.node(size)?;
                self.text(")");
            }
            Node::Float(bits, suffix) => {
                let _ = write!(self.out, "_Float{bits}{suffix}");
            }
            Node::Decltype(expression) => {
                self.text("decltype (");
                self.node(expression)?;
                self.text(")");
            }
            Node::Constrained(concept, placeholder) => {
                self.node(concept)?;
                self.text(placeholder);
            }
            Node::Declared(kind, number) => {
                let _ = write!(self.out, "{kind}{number}");
            }
            Node::Declaration { kind, ty, parameter } => {
                self.text(kind);
                if let Some(ty) = ty {
                    self.node(ty)?;
                    self.text(" ");
                }
                self.node(parameter)?;
            }
            Node::Pack(elements) => self.list(elements)?,
            Node::Expansion(pattern) => self.expand(pattern)?,
            _ => self.expression(id)?,
        }
        Some(())
    }
}
