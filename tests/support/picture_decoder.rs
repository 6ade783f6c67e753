//! What a terminal that knows kitty, iTerm2 and sixel makes of a stream of bytes. Written from the
//! descriptions of the protocols, and knowing nothing of how the program makes its pictures.

use std::collections::BTreeMap;

use base64::Engine as _;
use image::RgbImage;

/// Something that matters to pictures, in the order it came.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A picture was sent, with kitty under an id.
    Picture { id: Option<u32>, pixels: RgbImage, through_tmux: bool },
    /// One kitty picture was deleted, data and all; or every one of them.
    Deleted(Option<u32>),
    /// All cells were erased, and with them what lay over them.
    Erased,
    /// The alternate screen was left.
    Left,
}

/// Reads a stream to its end.
///
/// # Panics
/// It holds a picture that breaks the rules of its protocol.
pub(crate) fn read(bytes: &[u8]) -> Vec<Event> {
    let mut reader = Reader::default();
    reader.read(bytes, false);
    assert!(reader.kitty.is_none(), "a picture was begun and never ended");
    reader.events
}

#[derive(Default)]
struct Reader {
    events: Vec<Event>,
    /// Pictures of which not all parts have come: what the first part said, and the data so far.
    kitty: Option<(BTreeMap<String, String>, String)>,
}

impl Reader {
    fn read(&mut self, bytes: &[u8], through_tmux: bool) {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == 0x1b) {
            rest = &rest[at + 1..];
            let Some((kind, body)) = rest.split_first() else { return };
            rest = match kind {
                b'P' if body.starts_with(b"tmux;") => {
                    let (inner, after) = unwrapped(&body[5..]);
                    self.read(&inner, true);
                    after
                }
                b'_' | b']' | b'P' => {
                    let (content, after) = string(body);
                    self.string(*kind, content, through_tmux);
                    after
                }
                b'[' => {
                    let end = body.iter().position(|byte| (0x40..=0x7e).contains(byte));
                    let end = end.unwrap_or(body.len().saturating_sub(1));
                    match &body[..=end] {
                        b"2J" => self.events.push(Event::Erased),
                        b"?1049l" => self.events.push(Event::Left),
                        _ => {}
                    }
                    &body[end + 1..]
                }
                _ => body,
            };
        }
    }

    fn string(&mut self, kind: u8, content: &[u8], through_tmux: bool) {
        let text = String::from_utf8_lossy(content);
        match kind {
            b'_' if text.starts_with('G') => self.kitty(&text[1..], through_tmux),
            b']' if text.starts_with("1337;File=") => {
                let (facts, data) = text["1337;File=".len()..].split_once(':').expect("data");
                let facts = pairs(facts, ';');
                assert_eq!(facts.get("inline").map(String::as_str), Some("1"));
                let data = decoded(data);
                assert_eq!(facts["size"], data.len().to_string(), "it says how long it is");
                let pixels = image::load_from_memory(&data).expect("a picture").to_rgb8();
                self.events.push(Event::Picture { id: None, pixels, through_tmux });
            }
            b'P' => {
                let parameters = text.find(|letter: char| !";0123456789".contains(letter));
                if let Some(at) = parameters.filter(|at| text[*at..].starts_with('q')) {
                    let pixels = sixel(&text[at + 1..]);
                    self.events.push(Event::Picture { id: None, pixels, through_tmux });
                }
            }
            _ => {}
        }
    }

    fn kitty(&mut self, content: &str, through_tmux: bool) {
        let (control, data) = content.split_once(';').unwrap_or((content, ""));
        let control = pairs(control, ',');
        let said = |key: &str| control.get(key).map(String::as_str);
        match said("a") {
            Some("q") => return,
            Some("d") => {
                let id = match said("d") {
                    Some("A") => None,
                    Some("I") => Some(control["i"].parse().expect("an id")),
                    other => panic!("deleted {other:?} only"),
                };
                return self.events.push(Event::Deleted(id));
            }
            _ => {}
        }
        let (first, all) = self.kitty.get_or_insert_with(|| (control.clone(), String::new()));
        assert!(data.len() <= 4096, "a part is too long: {}", data.len());
        all.push_str(data);
        if said("m") == Some("1") {
            assert_eq!(data.len() % 4, 0, "a part that is not the last ends between characters");
            return;
        }
        assert_eq!(first.get("U").map(String::as_str), Some("1"), "placed by placeholders");
        let number = |key: &str| -> u32 { first[key].parse().expect(key) };
        let (width, height, data) = (number("s"), number("v"), decoded(all));
        let pixels = match number("f") {
            24 => RgbImage::from_raw(width, height, data).expect("as many bytes as it says"),
            32 => {
                let rgb = data.chunks(4).flat_map(|pixel| pixel[..3].to_vec()).collect();
                RgbImage::from_raw(width, height, rgb).expect("as many bytes as it says")
            }
            other => panic!("format {other}"),
        };
        let id = Some(number("i"));
        self.kitty = None;
        self.events.push(Event::Picture { id, pixels, through_tmux });
    }
}

/// Up to the end of a control string, and what follows it.
fn string(bytes: &[u8]) -> (&[u8], &[u8]) {
    for at in 0..bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (0x07, _) => return (&bytes[..at], &bytes[at + 1..]),
            (0x1b, Some(b'\\')) => return (&bytes[..at], &bytes[at + 2..]),
            (0x1b, _) => panic!("a control string breaks off"),
            _ => {}
        }
    }
    (bytes, &[])
}

/// What tmux hands on: each escape was doubled, and the first single one ends it.
fn unwrapped(bytes: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut inner = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (0x1b, Some(0x1b)) => at += 1,
            (0x1b, Some(b'\\')) => return (inner, &bytes[at + 2..]),
            (0x1b, _) => panic!("an escape that is not doubled"),
            _ => {}
        }
        inner.push(bytes[at]);
        at += 1;
    }
    panic!("never ended")
}

fn pairs(text: &str, separator: char) -> BTreeMap<String, String> {
    let pairs = text.split(separator).filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn decoded(text: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text).expect("base64")
}

/// Bands of six rows, one colour after the other.
fn sixel(data: &str) -> RgbImage {
    let mut colours: BTreeMap<u32, [u8; 3]> = BTreeMap::new();
    let mut pixels = RgbImage::new(0, 0);
    let mut painted = Vec::new();
    let (mut x, mut y, mut colour, mut repeat) = (0, 0, [0; 3], 1);
    let mut letters = data.chars().peekable();
    while let Some(letter) = letters.next() {
        let mut numbers = Vec::new();
        if "\"#!".contains(letter) {
            let mut text = String::new();
            while let Some(next) = letters.next_if(|next| next.is_ascii_digit() || *next == ';') {
                text.push(next);
            }
            numbers = text.split(';').map(|number| number.parse::<u32>().unwrap_or(0)).collect();
        }
        match letter {
            '"' => {
                pixels = RgbImage::new(numbers[2], numbers[3]);
                painted = vec![false; pixels.pixels().len()];
            }
            '#' => {
                if let [register, 2, red, green, blue] = numbers[..] {
                    let share = |percent: u32| u8::try_from(percent * 255 / 100).expect("a share");
                    colours.insert(register, [share(red), share(green), share(blue)]);
                }
                colour = *colours.get(&numbers[0]).expect("a colour that was defined");
            }
            '!' => repeat = numbers[0],
            '$' => x = 0,
            '-' => (x, y) = (0, y + 6),
            '?'..='~' => {
                let bits = u32::from(letter) - u32::from('?');
                for column in x..x + repeat {
                    for row in (0..6).filter(|row| bits >> row & 1 == 1) {
                        // The last band may be higher than what is left of the picture.
                        if let Some(pixel) = pixels.get_pixel_mut_checked(column, y + row) {
                            pixel.0 = colour;
                            let place = (y + row) * pixels.width() + column;
                            painted[usize::try_from(place).expect("small")] = true;
                        }
                    }
                }
                (x, repeat) = (x + repeat, 1);
            }
            letter => assert!(letter.is_whitespace(), "{letter:?} in a picture"),
        }
    }
    assert!(
        !painted.is_empty() && painted.iter().all(|painted| *painted),
        "all of it has a colour"
    );
    pixels
}
