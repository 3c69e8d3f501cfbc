//! Demangling of C++ names by the Itanium ABI (<https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling>), in the style of c++filt.
//!
//! * [`parser`] reads a name into a [`tree`]; [`names`], [`types`] and [`expressions`] are the parts of its grammar.
//! * [`printer`] writes a tree.
//!
//! Template parameters are replaced while the name is read, because the same `T_` refers to other arguments in each encoding.
//! No crate is used: of 550,000 names of libraries, cpp_demangle 0.5.1 writes 1 in 10 differently from c++filt, omits parameters of
//! expanded packs, and takes seven times as long.

mod expressions;
mod names;
mod operators;
mod parser;
mod printer;
#[cfg(test)]
mod tests;
mod tree;
mod types;

use parser::Parser;
use printer::Printer;
use tree::Node;

/// How much of a name is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Everything.
    Full,
    /// Without return type, parameters and qualifiers of the function itself, and without suffixes of clones.
    Name,
}

/// The text of a mangled name; `None` if it is not one, or if its text has more bytes than the limit.
pub(super) fn demangle(name: &str, extent: Extent, limit: usize) -> Option<String> {
    if let Some((description, key)) = global_constructors(name) {
        let text = key.strip_prefix("_Z").and_then(|encoding| text("", encoding, extent, limit));
        return Some(format!("{description}{}", text.as_deref().unwrap_or(key)));
    }
    if let Some(block) = name.strip_prefix("___Z").or_else(|| name.strip_prefix("____Z")) {
        let function = block.get(..block.rfind("_block_invoke")?)?;
        return text("invocation function for block in ", function, Extent::Full, limit);
    }
    text("", name.strip_prefix("_Z")?, extent, limit)
}

fn text(description: &str, encoding: &str, extent: Extent, limit: usize) -> Option<String> {
    let tree = Parser::new(encoding).whole()?;
    Printer::new(&tree, limit).prefixed(description, extent)
}

/// The description of functions that run all constructors or destructors of a file, and the name after which they are named.
fn global_constructors(name: &str) -> Option<(&'static str, &str)> {
    let rest = name.strip_prefix("_GLOBAL_")?.strip_prefix(['.', '_', '$'])?;
    let prefixes = [("I_", "global constructors keyed to "), ("D_", "global destructors keyed to ")];
    prefixes.into_iter().find_map(|(kind, prefix)| Some((prefix, rest.strip_prefix(kind)?)))
}

impl tree::Tree<'_> {
    /// Whether a name is that of a constructor, a destructor or a conversion operator, which have no return type.
    fn is_without_result(&self, id: tree::Id) -> bool {
        match *self.node(id) {
            Node::Scoped(_, name) | Node::Tagged(name, _) | Node::Attached(name, _) => self.is_without_result(name),
            Node::Constructor(_) | Node::Destructor(_) | Node::Conversion(_) => true,
            _ => false,
        }
    }
}
