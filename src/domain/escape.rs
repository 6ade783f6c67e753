//! Untrusted text made visible and inert. The only such function: every file name, class name, note and
//! message of another library passes through here before it reaches a terminal, HTML or a log.
//!
//! Two different texts never come out equal: a backslash is doubled, so an escape that was typed by
//! somebody differs from one we made.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;

/// Longest text shown, in characters; the rest is cut and counted.
pub const MAX_SHOWN: usize = 4096;

/// Most combining marks in a row that are shown as they are.
const MAX_COMBINING: usize = 4;

/// `text` with everything replaced that could move a cursor, reorder or hide characters, or end a line.
///
/// Control characters become `\x1b`, other invisible or reordering ones `\u{202e}`, a backslash `\\`.
/// Borrowed when nothing had to change.
pub fn escape(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_SHOWN
        && text.bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'\\')
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut combining = 0;
    let mut cut = 0_usize;
    for (index, character) in text.chars().enumerate() {
        if index >= MAX_SHOWN {
            cut += 1;
            continue;
        }
        if is_combining(character) {
            combining += 1;
        } else {
            combining = 0;
        }
        // Writing to a String cannot fail.
        let _ = match character {
            '\\' => out.write_str("\\\\"),
            control if u32::from(control) < 0x20 || u32::from(control) == 0x7f => {
                write!(out, "\\x{:02x}", u32::from(control))
            }
            hidden if is_hidden(hidden) || combining > MAX_COMBINING => {
                write!(out, "\\u{{{:x}}}", u32::from(hidden))
            }
            plain => out.write_char(plain),
        };
    }
    if cut > 0 {
        let _ = write!(out, "… ({cut} more characters)");
    }
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// [`escape`] for file names, which need not be UTF-8: other bytes become `\xff`.
pub fn escape_os(name: &OsStr) -> String {
    if let Some(text) = name.to_str() {
        return escape(text).into_owned();
    }
    let mut out = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        out.push_str(&escape(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// [`escape`], then the five characters that mean something in HTML.
pub fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for character in escape(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            plain => out.push(plain),
        }
    }
    out
}

/// Characters that show nothing, reorder their neighbours, or count as a line end, apart from ASCII
/// control characters.
fn is_hidden(character: char) -> bool {
    matches!(
        u32::from(character),
        0x80..=0x9f            // C1 controls
        | 0xad                 // soft hyphen
        | 0x034f               // combining grapheme joiner
        | 0x061c               // Arabic letter mark
        | 0x115f..=0x1160      // Hangul fillers
        | 0x17b4..=0x17b5
        | 0x180b..=0x180f      // Mongolian selectors and separator
        | 0x200b..=0x200f      // zero width, direction marks
        | 0x2028..=0x202e      // line ends, direction embeddings
        | 0x2060..=0x206f      // invisible operators, isolates
        | 0x3164
        | 0xfe00..=0xfe0f      // variation selectors
        | 0xfeff               // byte order mark
        | 0xffa0
        | 0xfff0..=0xfffb
        | 0x1bca0..=0x1bca3
        | 0x1d173..=0x1d17a
        | 0xe0000..=0xe0fff    // tags, more variation selectors
    ) || is_odd_space(character)
        || is_private(character)
}

/// Spaces that look like U+0020 and are not.
fn is_odd_space(character: char) -> bool {
    character != ' ' && character != '\u{3000}' && character.is_whitespace()
}

fn is_private(character: char) -> bool {
    matches!(u32::from(character), 0xe000..=0xf8ff | 0xf0000..=0x10_ffff)
}

fn is_combining(character: char) -> bool {
    matches!(
        u32::from(character),
        0x0300..=0x036f | 0x0483..=0x0489 | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe20..=0xfe2f
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table() {
        for (text, shown) in [
            ("plain name.jpg", "plain name.jpg"),
            ("plage été 垃圾.jpg", "plage été 垃圾.jpg"),
            ("a\u{1b}[2Jb", "a\\x1b[2Jb"),
            ("a\nb\tc\r", "a\\x0ab\\x09c\\x0d"),
            ("a\u{9b}b", "a\\u{9b}b"),
            ("\u{202e}gpj.exe", "\\u{202e}gpj.exe"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
            ("back\\slash", "back\\\\slash"),
            ("del\u{7f}", "del\\x7f"),
            ("nbsp\u{a0}", "nbsp\\u{a0}"),
        ] {
            assert_eq!(escape(text), shown);
        }
        assert!(matches!(escape("été"), Cow::Borrowed(_)));
        assert_eq!(escape_html("<b>&\"'\u{1b}"), "&lt;b&gt;&amp;&quot;&#39;\\x1b");
    }

    #[test]
    fn long_runs_are_cut_and_counted() {
        let many = "e".to_owned() + &"\u{301}".repeat(1000);
        assert!(escape(&many).contains("\\u{301}"));
        let long = "x".repeat(MAX_SHOWN + 7);
        assert!(escape(&long).ends_with("… (7 more characters)"));
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_not_utf8() {
        use std::os::unix::ffi::OsStrExt as _;
        assert_eq!(escape_os(OsStr::from_bytes(b"a\xff\x1b.jpg")), "a\\xff\\x1b.jpg");
        assert_eq!(escape_os(OsStr::new("a.jpg")), "a.jpg");
    }

    proptest! {
        #[test]
        fn nothing_dangerous_is_left(text in ".*") {
            prop_assert!(!escape(&text).chars().any(|c| c.is_control() || is_hidden(c)));
        }

        #[test]
        fn clean_text_is_untouched(text in "[a-zA-Z0-9 ._/-]*") {
            prop_assert!(matches!(escape(&text), Cow::Borrowed(_)));
        }

        #[test]
        fn different_texts_stay_different(a in "[\\\\x1b\u{1b}u{}\u{200b}a]{0,6}", b in "[\\\\x1b\u{1b}u{}\u{200b}a]{0,6}") {
            prop_assert_eq!(a == b, escape(&a) == escape(&b));
        }
    }
}
