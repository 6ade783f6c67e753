//! The clipboard of the person at the terminal, over ssh and tmux too: OSC 52.
//!
//! A terminal never says whether it took the text, and many are told not to. So this is only ever an offer
//! beside something that is sure, such as a file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{ACTIVE, Ordering, TMUX, system};

/// Longest text that is offered, in bytes. Terminals cut or drop longer sequences (xterm at 100,000
/// characters), and half a text is worse than none.
const MAX_CLIPBOARD: usize = 70_000;

/// Offers a text to the terminal's clipboard. False when it is too long or the terminal is not ours.
pub fn offer_to_clipboard(text: &str) -> bool {
    match sequence(text, TMUX.load(Ordering::SeqCst)) {
        Some(sequence) if ACTIVE.load(Ordering::SeqCst) => {
            system::write(&sequence);
            true
        }
        _ => false,
    }
}

/// The sequence (xterm's ctlseqs, "Manipulate Selection Data"). Inside tmux it is sent twice: as it is, for
/// a tmux whose `set-clipboard` is `on`, and wrapped, for one that only lets sequences through.
fn sequence(text: &str, tmux: bool) -> Option<String> {
    if text.len() > MAX_CLIPBOARD {
        return None;
    }
    // Base64 has no control characters, so nothing in the text can end the sequence early.
    let plain = format!("\x1b]52;c;{}\x07", STANDARD.encode(text));
    Some(if tmux { format!("{plain}\x1bPtmux;\x1b{plain}\x1b\\") } else { plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_travels_as_base64() {
        assert_eq!(sequence("a \x1b b", false).as_deref(), Some("\x1b]52;c;YSAbIGI=\x07"));
    }

    #[test]
    fn tmux_gets_it_both_ways() {
        assert_eq!(
            sequence("ab", true).as_deref(),
            Some("\x1b]52;c;YWI=\x07\x1bPtmux;\x1b\x1b]52;c;YWI=\x07\x1b\\")
        );
    }

    #[test]
    fn a_text_is_offered_whole_or_not_at_all() {
        assert!(sequence(&"x".repeat(MAX_CLIPBOARD), false).is_some());
        assert_eq!(sequence(&"x".repeat(MAX_CLIPBOARD + 1), false), None);
    }

    #[test]
    fn a_terminal_that_is_not_ours_gets_nothing() {
        assert!(!offer_to_clipboard("x"));
    }
}
