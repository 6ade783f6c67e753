//! JSON whose bytes are fixed, for everything that is hashed.
//!
//! Two layouts of one tree:
//! * [`Json::to_canonical`]: keys sorted by code point, no insignificant space, UTF-8; this is hashed.
//! * [`Json::to_file`]: indent 2, sorted keys, ASCII only (`\uxxxx`); this is what lies on disk, and it
//!   is byte for byte what Python's `json.dumps(value, indent=2, sort_keys=True)` writes.
//!
//! Numbers keep the difference between `1` and `1.0`, because it changes the hash. The reader is
//! strict: no duplicate keys, no NaN or infinity, no lone surrogates, a bounded depth.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

/// Deepest nesting the reader accepts.
pub const MAX_DEPTH: usize = 64;

/// A JSON value. Objects are sorted by code point, which for UTF-8 is byte order.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number written without point or exponent, as its decimal text (`-0` becomes `0`).
    Int(String),
    /// Any other number; finite.
    Float(f64),
    /// A string
    Text(String),
    /// An array
    Array(Vec<Json>),
    /// An object
    Object(BTreeMap<String, Json>),
}

/// Why a text is not acceptable JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct JsonError {
    /// 1-based line of the fault.
    pub line: usize,
    /// What was expected or found.
    pub reason: String,
}

impl Json {
    /// Reads one JSON value that fills all of `bytes`.
    ///
    /// # Errors
    /// Anything that is not strict JSON, and duplicate keys, numbers past the range of f64, lone
    /// surrogates and nesting beyond [`MAX_DEPTH`].
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(bytes).map_err(|error| JsonError {
            line: 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count(),
            reason: "not UTF-8".to_owned(),
        })?;
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.skip_space();
        if reader.at == text.len() {
            Ok(value)
        } else {
            Err(reader.fault("something follows the value"))
        }
    }

    /// The tree of any serialisable value.
    ///
    /// # Errors
    /// A NaN or infinite number, or a map whose keys are not strings.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, JsonError> {
        let tree = serde_json::to_value(value)
            .map_err(|error| JsonError { line: 0, reason: error.to_string() })?;
        Ok(Self::from_serde(tree))
    }

    /// The same tree in our form. `serde_json` writes non-finite numbers as null before this sees them.
    fn from_serde(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(flag) => Self::Bool(flag),
            serde_json::Value::Number(number) => match (number.is_f64(), number.as_f64()) {
                (true, Some(float)) => Self::Float(float),
                _ => Self::Int(number.to_string()),
            },
            serde_json::Value::String(text) => Self::Text(text),
            serde_json::Value::Array(items) => {
                Self::Array(items.into_iter().map(Self::from_serde).collect())
            }
            serde_json::Value::Object(fields) => Self::Object(
                fields.into_iter().map(|(key, item)| (key, Self::from_serde(item))).collect(),
            ),
        }
    }

    /// Reads the tree into a typed value.
    ///
    /// # Errors
    /// A missing field or one of another type.
    pub fn to_typed<T: serde::de::DeserializeOwned>(&self) -> Result<T, JsonError> {
        serde_json::from_str(&self.to_canonical()).map_err(|error| JsonError {
            line: 0,
            // serde_json's position is that of the canonical text, which nobody has seen.
            reason: error.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
        })
    }

    /// The text that is hashed.
    pub fn to_canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    /// The text of a file: indent 2, sorted keys, ASCII only, no final newline.
    pub fn to_file(&self) -> String {
        let mut out = String::new();
        self.write_file(&mut out, 0);
        out
    }

    /// The value of an object's field.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.get(key),
            _ => None,
        }
    }

    /// The value at a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// Any number as f64.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(digits) => digits.parse().ok(),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// `true` or `false`.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The fields of an object.
    pub fn as_object(&self) -> Option<&BTreeMap<String, Self>> {
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// An object of these fields.
    pub fn object<const N: usize>(fields: [(&str, Self); N]) -> Self {
        Self::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// A string.
    pub fn text(text: impl ToString) -> Self {
        Self::Text(text.to_string())
    }

    /// A whole number.
    pub fn int(value: impl Into<i128>) -> Self {
        Self::Int(value.into().to_string())
    }

    /// A number of things.
    pub fn count(value: usize) -> Self {
        Self::Int(value.to_string())
    }

    /// A string, or null.
    pub fn text_or_null(text: Option<impl ToString>) -> Self {
        text.map_or(Self::Null, Self::text)
    }

    /// The items of an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    fn write_canonical(&self, out: &mut String) {
        match self {
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_canonical(out);
                }
                out.push(']');
            }
            Self::Object(fields) => {
                out.push('{');
                for (index, (key, item)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(out, key, false);
                    out.push(':');
                    item.write_canonical(out);
                }
                out.push('}');
            }
            Self::Text(text) => write_string(out, text, false),
            scalar => scalar.write_scalar(out),
        }
    }

    fn write_file(&self, out: &mut String, depth: usize) {
        let line = |out: &mut String, depth: usize| {
            out.push('\n');
            for _ in 0..depth {
                out.push_str("  ");
            }
        };
        match self {
            Self::Array(items) if !items.is_empty() => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    line(out, depth + 1);
                    item.write_file(out, depth + 1);
                }
                line(out, depth);
                out.push(']');
            }
            Self::Object(fields) if !fields.is_empty() => {
                out.push('{');
                for (index, (key, item)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    line(out, depth + 1);
                    write_string(out, key, true);
                    out.push_str(": ");
                    item.write_file(out, depth + 1);
                }
                line(out, depth);
                out.push('}');
            }
            Self::Array(_) => out.push_str("[]"),
            Self::Object(_) => out.push_str("{}"),
            Self::Text(text) => write_string(out, text, true),
            scalar => scalar.write_scalar(out),
        }
    }

    fn write_scalar(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Self::Int(digits) => out.push_str(digits),
            Self::Float(value) => out.push_str(&float_text(*value)),
            Self::Text(_) | Self::Array(_) | Self::Object(_) => {}
        }
    }
}

/// The shortest decimal text that reads back as `value`, laid out as Python's `repr`: an exponent only
/// below 1e-4 or from 1e16 on, always signed and of at least two digits; `.0` when whole.
///
/// The digits come from `serde_json`, whose choice among equally short texts agrees with Python's,
/// where the standard library's does not. A non-finite value has no JSON text; it becomes `null`.
pub fn float_text(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    let printed = serde_json::Number::from_f64(value).map(|number| number.to_string());
    let printed = printed.unwrap_or_default();
    let (sign, magnitude) = match printed.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", printed.as_str()),
    };
    let (mantissa, exponent) = match magnitude.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().unwrap_or(0)),
        None => (magnitude, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let joined = format!("{whole}{fraction}");
    let leading_zeros = joined.len() - joined.trim_start_matches('0').len();
    let digits = joined.trim_matches('0');
    if digits.is_empty() {
        return format!("{sign}0.0");
    }
    // Position of the decimal point counted from the first significant digit.
    let point = i32::try_from(whole.len()).unwrap_or(0) + exponent
        - i32::try_from(leading_zeros).unwrap_or(0);
    let length = i32::try_from(digits.len()).unwrap_or(0);
    let exp10 = point - 1;
    let body = if !(-4..16).contains(&exp10) {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        let exponent_sign = if exp10 < 0 { '-' } else { '+' };
        format!("{first}{dot}{rest}e{exponent_sign}{:02}", exp10.abs())
    } else if point <= 0 {
        format!("0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
    } else if point >= length {
        format!("{digits}{}.0", "0".repeat((point - length).unsigned_abs() as usize))
    } else {
        let (before, after) = digits.split_at(point.unsigned_abs() as usize);
        format!("{before}.{after}")
    };
    format!("{sign}{body}")
}

/// A text as canonical JSON, at the end of `out`.
pub fn write_text(out: &mut String, text: &str) {
    write_string(out, text, false);
}

fn write_string(out: &mut String, text: &str, ascii_only: bool) {
    out.push('"');
    let as_it_is = |byte: u8| {
        byte >= 0x20 && byte != b'"' && byte != b'\\' && (byte.is_ascii() || !ascii_only)
    };
    // Nearly every text, and a long log holds many.
    if text.bytes().all(as_it_is) {
        out.push_str(text);
        out.push('"');
        return;
    }
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            // DEL is ASCII: Python leaves it as it is in both layouts.
            wide if ascii_only && !wide.is_ascii() => {
                let mut units = [0_u16; 2];
                for unit in wide.encode_utf16(&mut units) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn fault(&self, reason: &str) -> JsonError {
        let upto = &self.text.as_bytes()[..self.at.min(self.text.len())];
        JsonError {
            line: 1 + upto.iter().filter(|byte| **byte == b'\n').count(),
            reason: reason.to_owned(),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, literal: &str) -> Result<(), JsonError> {
        if self.text.as_bytes()[self.at..].starts_with(literal.as_bytes()) {
            self.at += literal.len();
            Ok(())
        } else {
            Err(self.fault(&format!("expected `{literal}`")))
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > MAX_DEPTH {
            return Err(self.fault("nested too deep"));
        }
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b't') => self.expect("true").map(|()| Json::Bool(true)),
            Some(b'f') => self.expect("false").map(|()| Json::Bool(false)),
            Some(b'n') => self.expect("null").map(|()| Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.fault("expected a value")),
            None => Err(self.fault("ends where a value should be")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut fields = BTreeMap::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(fields));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.fault("expected a key in quotes"));
            }
            let key = self.string()?;
            // Our own texts are sorted: the last key is the only one to look at.
            let follows = fields.last_key_value().is_none_or(|(last, _)| *last < key);
            if !follows && fields.contains_key(&key) {
                let shown: String = key.chars().take(80).collect();
                return Err(self.fault(&format!("key {shown:?} occurs twice")));
            }
            self.skip_space();
            self.expect(":")?;
            let item = self.value(depth + 1)?;
            fields.insert(key, item);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::Object(fields));
                }
                _ => return Err(self.fault("expected `,` or `}`")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::Array(items));
                }
                _ => return Err(self.fault("expected `,` or `]`")),
            }
        }
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.fault("expected a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let first = self.at;
        self.digits()?;
        if self.text.as_bytes()[first] == b'0' && self.at > first + 1 {
            return Err(self.fault("a number starts with 0"));
        }
        let mut whole = true;
        if self.peek() == Some(b'.') {
            whole = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let literal = &self.text[start..self.at];
        if whole {
            return Ok(Json::Int(if literal == "-0" { "0" } else { literal }.to_owned()));
        }
        match literal.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Json::Float(value)),
            _ => Err(self.fault("a number is out of range")),
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            // All of these are ASCII, and no byte of another character is.
            let stop = rest.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < 0x20);
            let Some(stop) = stop else {
                self.at = self.text.len();
                return Err(self.fault("a string does not end"));
            };
            out.push_str(&rest[..stop]);
            self.at += stop;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return Err(self.fault("a control character stands in a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let kind = self.peek();
        self.at += 1;
        match kind {
            Some(b'"') => Ok('"'),
            Some(b'\\') => Ok('\\'),
            Some(b'/') => Ok('/'),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{c}'),
            Some(b'n') => Ok('\n'),
            Some(b'r') => Ok('\r'),
            Some(b't') => Ok('\t'),
            Some(b'u') => {
                let high = self.four_hex()?;
                let code = if (0xd800..0xdc00).contains(&high) {
                    self.expect("\\u").map_err(|_| self.fault("a lone surrogate"))?;
                    let low = self.four_hex()?;
                    if !(0xdc00..0xe000).contains(&low) {
                        return Err(self.fault("a lone surrogate"));
                    }
                    0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)
                } else {
                    high
                };
                char::from_u32(code).ok_or_else(|| self.fault("a lone surrogate"))
            }
            _ => Err(self.fault("an unknown escape")),
        }
    }

    fn four_hex(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let value = digits.and_then(|digits| {
            digits.iter().try_fold(0_u32, |value, digit| {
                char::from(*digit).to_digit(16).map(|nibble| value << 4 | nibble)
            })
        });
        self.at = (self.at + 4).min(self.text.len());
        value.ok_or_else(|| self.fault("expected four hex digits"))
    }
}

#[cfg(test)]
mod tests;
