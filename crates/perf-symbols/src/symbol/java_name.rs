//! Symbol names of Java code that JVMTI agents write to jitdumps: `Ljava/lang/String;indexOf(II)I`.

/// The part of a name that a character is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamePart {
    Start,
    Class,
    Method,
    /// Between the parentheses.
    Parameters,
    ClassOfParameter,
    End,
}

/// The class, method and parameters without the return type, as perf shows them. `None` if the name is not one of JVMTI.
pub(super) fn demangle(name: &str) -> Option<String> {
    let signature = &name[..=name.rfind(')')?];
    let mut text = String::with_capacity(signature.len() * 2);
    let (mut part, mut parameters, mut dimensions) = (NamePart::Start, 0, 0);
    let mut letters = signature.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_type = part == NamePart::Parameters && (letter == 'L' || primitive(letter).is_some());
        if is_type && parameters > 0 && letter != 'V' {
            text.push_str(", ");
        }
        parameters += usize::from(is_type && letter != 'V');
        match (letter, part) {
            ('L', NamePart::Start) => part = NamePart::Class,
            ('L', NamePart::Parameters) => part = NamePart::ClassOfParameter,
            (_, NamePart::Parameters) if is_type => {
                text.push_str(primitive(letter).unwrap_or_default());
                (0..std::mem::take(&mut dimensions)).for_each(|_| text.push_str("[]"));
            }
            ('[', NamePart::Parameters) => dimensions += 1,
            ('(', NamePart::Method) => {
                text.push('(');
                part = NamePart::Parameters;
            }
            (')', NamePart::Parameters) => {
                text.push(')');
                part = NamePart::End;
            }
            (';', NamePart::Class) => {
                // As in perf, constructors follow without a dot: `java.lang.Object<init>()`.
                if letters.peek().is_some_and(char::is_ascii_alphabetic) {
                    text.push('.');
                }
                part = NamePart::Method;
            }
            (';', NamePart::ClassOfParameter) => part = NamePart::Parameters,
            ('/', NamePart::Class | NamePart::ClassOfParameter) => text.push('.'),
            ('[' | '(' | ')' | ';' | '/', _) => return None,
            _ => text.push(letter),
        }
    }
    Some(text)
}

/// The name of a primitive type.
fn primitive(letter: char) -> Option<&'static str> {
    Some(match letter {
        'B' => "byte",
        'C' => "char",
        'D' => "double",
        'F' => "float",
        'I' => "int",
        'J' => "long",
        'S' => "short",
        'V' => "void",
        'Z' => "boolean",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn decodes_classes_and_parameters() {
        let expected = [
            ("Ljava/lang/String;indexOf(II)I", Some("java.lang.String.indexOf(int, int)")),
            ("Ljava/lang/StringLatin1;equals([B[B)Z", Some("java.lang.StringLatin1.equals(byte[], byte[])")),
            ("Ljava/lang/Object;<init>()V", Some("java.lang.Object<init>()")),
            ("La/P$B;match(La/M;ILa/C;)Z", Some("a.P$B.match(a.M, int, a.C)")),
            ("LF;f([[JDF)V", Some("F.f(long[][], double, float)")),
            ("RegExp: (a|b)", None),
            ("f(int)", None),
            ("Lfoo", None),
            ("main", None),
        ];
        for (name, shown) in expected {
            assert_eq!(demangle(name).as_deref(), shown, "{name}");
        }
    }
}
