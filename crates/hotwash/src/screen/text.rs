//! Text by its width on the screen: a character of Chinese takes two columns, an accent none.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

pub(crate) use hotwash_engine::sources::discover::words;

/// How many columns a text takes. Not for text with colours in it.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Text that is safe and one line: control characters, which could move the cursor, become spaces or marks.
pub(crate) fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    for character in text.chars() {
        if character.is_whitespace() {
            space = true;
            continue;
        }
        if space && !out.is_empty() {
            out.push(' ');
        }
        space = false;
        out.push(if moves_the_cursor(character) { char::REPLACEMENT_CHARACTER } else { character });
    }
    out
}

/// Text whose line breaks and tabs stay, and nothing else that could move the cursor.
pub(crate) fn block(text: &str) -> String {
    let kept = |character: char| !moves_the_cursor(character) || matches!(character, '\n' | '\t');
    text.replace("\r\n", "\n").chars().map(|c| if kept(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// Control characters, and marks that change the direction of writing.
fn moves_the_cursor(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// Shortens to a width; what was cut is marked with `…`.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide + 1 > columns {
            break;
        }
        used += wide;
        out.push(character);
    }
    out.truncate(out.trim_end().len());
    if columns > 0 {
        out.push('…');
    }
    out
}

/// Shortens a path to a width at its front: the end says more.
pub(crate) fn fit_path(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 0;
    for character in text.chars().rev() {
        used += character.width().unwrap_or(0);
        if used + 1 > columns {
            break;
        }
        kept.push(character);
    }
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

/// Shortens or fills up to exactly a width, text to the left.
pub(crate) fn left(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    let fill = columns.saturating_sub(text.width());
    text + &" ".repeat(fill)
}

/// Shortens or fills up to exactly a width, text to the right.
pub(crate) fn right(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    " ".repeat(columns.saturating_sub(text.width())) + &text
}

/// Breaks text into lines of at most `columns` between words. A longer word, such as a path, stays whole.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.width() + 1 + word.width() > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        // Scripts without spaces break anywhere; a path stays whole, so that it can be copied.
        if word.is_ascii() || word.width() <= columns {
            line.push_str(word);
            continue;
        }
        for character in word.chars() {
            if line.width() + character.width().unwrap_or(0) > columns {
                lines.push(std::mem::take(&mut line));
            }
            line.push(character);
        }
    }
    lines.push(line);
    lines
}

/// Breaks text into lines of at most `columns`, also within words.
pub(crate) fn broken(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for character in text.chars() {
        if let Some(last) = lines.last_mut() {
            if last.is_empty() || last.width() + character.width().unwrap_or(0) <= columns {
                last.push(character);
            } else {
                lines.push(character.into());
            }
        }
    }
    lines
}

/// [`wrap`], with the lines after the first one indented.
pub(crate) fn wrap_indented(text: &str, columns: usize, indent: usize) -> String {
    wrap(text, columns.saturating_sub(indent)).join(&format!("\n{}", " ".repeat(indent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_columns_not_characters() {
        assert_eq!(fit("修复登录页面的错误", 9), "修复登录…");
        assert_eq!(width(&left("修复", 7)), 7);
        assert_eq!(fit("short", 9), "short");
        assert_eq!(fit("e\u{301}clair", 6), "e\u{301}clair");
        assert_eq!(fit_path("/home/ada/orchard", 9), "…/orchard");
    }

    #[test]
    fn nothing_in_a_text_moves_the_cursor() {
        assert_eq!(line("a\u{1b}[2Jb\r\n\tc\u{7}"), "a\u{fffd}[2Jb c\u{fffd}");
        assert_eq!(block("a\r\n\tb\u{1b}[1m\u{202e}"), "a\n\tb\u{fffd}[1m\u{fffd}");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap("修复登录页面", 8), ["修复登录", "页面"]);
        assert_eq!(wrap("see /a/long/path there", 8), ["see", "/a/long/path", "there"]);
        assert_eq!(broken("/a/long/path", 8), ["/a/long/", "path"]);
    }
}
