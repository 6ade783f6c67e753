//! Text that fits its cells.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// A rectangle in the middle of `area`, no larger than it.
pub fn popup(area: Rect, columns: u16, rows: u16) -> Rect {
    let width = columns.min(area.width);
    let height = rows.min(area.height);
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}

/// Columns `text` takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text`, cut to `columns` with `…` at the end when it is longer.
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = take(text.chars(), columns.saturating_sub(1));
    if columns > 0 {
        out.push('…');
    }
    out
}

/// A line of several styles, cut to `columns` as [`fit`] cuts text.
pub fn fit_line(mut line: Line<'static>, columns: usize) -> Line<'static> {
    if line.width() <= columns {
        return line;
    }
    let mut room = columns;
    line.spans.retain_mut(|span| {
        let (had, wide) = (room, span.width());
        room = room.saturating_sub(wide);
        if had > 0 && wide >= had {
            // Here it ends, also where the span would just fit: something follows it.
            span.content = fit(&format!("{} ", span.content), had).into();
        }
        had > 0
    });
    line
}

/// A line with those of `others` behind it that fit whole, so that no number is cut to another one.
pub fn fit_parts(
    mut line: Line<'static>,
    others: impl IntoIterator<Item = Vec<Span<'static>>>,
    columns: usize,
) -> Line<'static> {
    for spans in others {
        let wanted: usize = spans.iter().map(Span::width).sum();
        if line.width() + wanted <= columns {
            line.spans.extend(spans);
        }
    }
    fit_line(line, columns)
}

/// `text`, cut in the middle: beginning and end of a path both matter.
pub fn fit_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let left = columns.saturating_sub(1) / 2;
    let head = take(text.chars(), left);
    let room = columns.saturating_sub(1 + width(&head));
    let tail: String = take(text.chars().rev(), room).chars().rev().collect();
    if columns == 0 { String::new() } else { format!("{head}…{tail}") }
}

/// `text` cut to `columns` and filled up with spaces.
pub fn pad(text: &str, columns: usize) -> String {
    let mut out = fit(text, columns);
    let used = width(&out);
    out.extend(std::iter::repeat_n(' ', columns.saturating_sub(used)));
    out
}

/// `text` cut to `columns`, with spaces before it.
pub fn pad_left(text: &str, columns: usize) -> String {
    let fitted = fit(text, columns);
    let mut out = " ".repeat(columns.saturating_sub(width(&fitted)));
    out.push_str(&fitted);
    out
}

/// Lines of at most `columns`, broken between words where possible.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut word = word.to_owned();
        loop {
            let space = usize::from(!line.is_empty());
            if width(&line) + space + width(&word) <= columns {
                if space == 1 {
                    line.push(' ');
                }
                line.push_str(&word);
                break;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
                continue;
            }
            let head = take(word.chars(), columns.max(1));
            if head.is_empty() {
                // A wide character in one column: nothing can be shown.
                return lines;
            }
            word = word[head.len()..].to_owned();
            lines.push(head);
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

fn take(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|character| {
            used += character.width().unwrap_or(1);
            used <= columns
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn table() {
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("abc", 4), "abc");
        assert_eq!(fit("垃圾桶", 4), "垃…");
        let line = |columns| fit_line(Line::from(vec!["ab".into(), "cd".into()]), columns);
        let cut = [(5, "abcd"), (4, "abcd"), (3, "ab…"), (2, "a…"), (1, "…"), (0, "")];
        for (columns, text) in cut {
            assert_eq!(line(columns).to_string(), text);
        }
        let parts = [vec![" 0.41".into()], vec![" x".into()]];
        assert_eq!(fit_parts(Line::from("abc"), parts, 5).to_string(), "abc x");
        assert_eq!(fit_middle("images/park/bottle.jpg", 11), "image…e.jpg");
        assert_eq!(pad("ab", 4), "ab  ");
        assert_eq!(pad_left("7", 3), "  7");
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3), [""]);
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_its_cells(text in ".{0,40}", columns in 0_usize..30) {
            prop_assert!(width(&fit(&text, columns)) <= columns);
            prop_assert!(width(&fit_middle(&text, columns)) <= columns);
            prop_assert_eq!(width(&pad("abc", columns)), columns);
            for line in wrap(&text, columns) {
                prop_assert!(width(&line) <= columns.max(1));
            }
        }
    }
}
