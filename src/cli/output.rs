//! Results to stdout, everything else to stderr, and what the exit code says.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::domain::escape::escape;

/// What a command found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// 0: done, or the answer is yes.
    Done,
    /// 1: the answer is no.
    No,
    /// 2: it could not be answered; the reason has been said already.
    Unanswered,
}

impl Outcome {
    /// The process's exit code.
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Done => ExitCode::SUCCESS,
            Self::No => ExitCode::from(1),
            Self::Unanswered => ExitCode::from(2),
        }
    }
}

/// Writes a result to stdout, with a final newline. A reader that went away is not an error.
///
/// Untrusted parts must have passed [`escape`] or JSON's own escaping. What JSON lets through although it
/// acts on terminals becomes `\u202e` here, which means the same to whoever reads the JSON.
///
/// # Errors
/// Any failure but a closed pipe.
pub fn result(text: &str) -> anyhow::Result<()> {
    let text = inert(text);
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| if text.ends_with('\n') { Ok(()) } else { stdout.write_all(b"\n") });
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::from(error).context("cannot write to standard output"))
        }
        _ => Ok(()),
    }
}

/// `text` without any character that acts on a terminal, other than line ends and tabs.
fn inert(text: &str) -> Cow<'_, str> {
    let acts = |character: char| !matches!(character, '\n' | '\t') && escape_changes(character);
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte) || byte == b'\n') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut units = [0_u16; 2];
    for character in text.chars() {
        if acts(character) {
            for unit in character.encode_utf16(&mut units) {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// One line to stderr, escaped.
pub fn note(text: &str) {
    // Nobody is left to tell when stderr is gone.
    let _ = writeln!(io::stderr().lock(), "{}", escape_lines(text));
}

/// An error with its causes, on one line.
pub fn error(error: &anyhow::Error) {
    let mut line = String::from("flipside: ");
    let mut last = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        // Messages of this program already hold their cause where that reads better.
        if last.contains(&text) {
            continue;
        }
        if !last.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&text);
        last = text;
    }
    note(&line);
}

/// Escapes each line of a text that is already escaped in its untrusted parts: a second pass must not
/// double their backslashes.
fn escape_lines(text: &str) -> String {
    let clean = |character: char| character == '\n' || !escape_changes(character);
    text.chars()
        .map(|character| {
            if character == '\n' {
                " ".to_owned()
            } else if clean(character) {
                character.to_string()
            } else {
                escape(&character.to_string()).into_owned()
            }
        })
        .collect()
}

fn escape_changes(character: char) -> bool {
    let mut buffer = [0_u8; 4];
    character != '\\' && escape(character.encode_utf8(&mut buffer)) != character.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same_and_acts_on_nothing() {
        let value = serde_json::json!({ "na\u{7f}me": "a\u{202e}b\u{9b}c\u{e0001}d\u{1b}é漢" });
        let text = value.to_string();
        assert!(text.contains('\u{202e}'), "serde_json leaves it");
        let made = inert(&text);
        assert!(!made.chars().any(|character| character == '\u{202e}' || character.is_control()));
        assert!(made.contains("é漢"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&made).expect("JSON"), value);
        assert!(matches!(inert("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn lines_are_inert_and_escapes_are_not_doubled() {
        assert_eq!(escape_lines("a\u{1b}[2J \\x1b\nb"), "a\\x1b[2J \\x1b b");
    }
}
