//! Writes JSON as [`serde_json`] does, byte for byte, in a fraction of the time: for what every session is kept as.
//!
//! Names of fields are written as they stand, and a text is looked at sixteen bytes at a time for what must be escaped.
//! Rare things, such as a text with a quote in it, are left to [`serde_json`]. Its own `RawValue` is not known here.

use serde::Serialize;
use serde::ser::{self, Error as _, Serializer};
use serde_json::Error;
use wide::u8x16;

/// A value as JSON. `room` is about how many bytes it takes.
pub fn to_string(value: &impl Serialize, room: usize) -> Result<String, Error> {
    let mut out = Vec::with_capacity(room);
    write(value, &mut out)?;
    String::from_utf8(out).map_err(Error::custom)
}

/// Writes a value as JSON behind what is there.
pub fn write(value: &impl Serialize, out: &mut Vec<u8>) -> Result<(), Error> {
    value.serialize(Json(out))
}

/// Writes a text in quotes.
fn text(text: &str, out: &mut Vec<u8>) -> Result<(), Error> {
    if needs_escapes(text.as_bytes()) {
        return serde_json::to_writer(out, text);
    }
    plain(text, out);
    Ok(())
}

/// Writes a text that holds nothing to escape.
fn plain(text: &str, out: &mut Vec<u8>) {
    debug_assert!(!needs_escapes(text.as_bytes()), "{text}");
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Whether a text holds a quote, a backslash or a control character.
fn needs_escapes(text: &[u8]) -> bool {
    let escaped = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
    let block = |block: &[u8; 16]| {
        let bytes = u8x16::new(*block);
        let control = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
        let marks = bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\'));
        (control | marks).to_bitmask() != 0
    };
    // The last block takes in some of what stands before it, and so does the second half of a short text.
    if let Some(last) = text.last_chunk() {
        return text.as_chunks().0.iter().any(block) || block(last);
    }
    match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(first), Some(last)) => {
            let mut both = [0; 16];
            both[..8].copy_from_slice(first);
            both[8..].copy_from_slice(last);
            block(&both)
        }
        _ => text.iter().any(escaped),
    }
}

/// The digits of the numbers below a hundred.
static TWO_DIGITS: [[u8; 2]; 100] = {
    let mut digits = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < digits.len() {
        digits[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    digits
};

/// Writes a whole number, three digits at a time. Most have no more.
fn number(number: u64, out: &mut Vec<u8>) {
    if number >= 1000 {
        self::number(number / 1000, out);
    }
    let two = |number: u64| TWO_DIGITS[(number % 100) as usize];
    match number {
        0..10 => out.push(b'0' + number as u8),
        10..100 => out.extend_from_slice(&two(number)),
        _ => {
            let [tens, ones] = two(number);
            out.extend_from_slice(&[b'0' + (number / 100 % 10) as u8, tens, ones]);
        }
    }
}

/// Writes a number of whole thousandths, as those in grades are, and says whether it is one. No shorter number is read
/// back as it.
fn thousandths(value: f64, out: &mut Vec<u8>) -> bool {
    let whole = (value.abs() * 1000.0 + 0.5) as u32;
    if whole >= 1_000_000_000 || f64::from(whole) / 1000.0 != value.abs() {
        return false;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    number((whole / 1000).into(), out);
    let digit = |unit: u32| b'0' + (whole / unit % 10) as u8;
    let digits = [b'.', digit(100), digit(10), digit(1)];
    let zeros = digits[2..].iter().rev().take_while(|digit| **digit == b'0').count();
    out.extend_from_slice(&digits);
    out.truncate(out.len() - zeros);
    true
}

/// Writes the name of a field, which holds nothing to escape. Where it is called the name is known, and copying what is
/// known takes a third of the time.
#[expect(clippy::inline_always, reason = "as a call it would copy a text of any length")]
#[inline(always)]
fn name(name: &'static str, out: &mut Vec<u8>) {
    debug_assert!(!needs_escapes(name.as_bytes()), "{name}");
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Writes one value.
struct Json<'o>(&'o mut Vec<u8>);

/// Writes what a list or an object holds, each with a comma behind it, and then its end in the place of the last comma.
struct Inside<'o> {
    out: &'o mut Vec<u8>,
    end: u8,
    /// It is the only field of an object, which ends with it.
    of_variant: bool,
}

impl<'o> Json<'o> {
    fn inside(self, start: u8, end: u8) -> Inside<'o> {
        self.0.push(start);
        Inside { out: self.0, end, of_variant: false }
    }

    /// What a variant holds is the only field of an object.
    fn variant(self, variant: &'static str) -> Json<'o> {
        self.0.push(b'{');
        name(variant, self.0);
        self
    }
}

impl Inside<'_> {
    #[inline]
    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        value.serialize(Json(self.out))?;
        self.out.push(b',');
        Ok(())
    }

    #[inline]
    fn field(&mut self, key: &'static str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        name(key, self.out);
        self.element(value)
    }

    fn finish(self) {
        match self.out.last_mut() {
            Some(last) if *last == b',' => *last = self.end,
            _ => self.out.push(self.end),
        }
        if self.of_variant {
            self.out.push(b'}');
        }
    }
}

macro_rules! numbers {
    ($($method:ident($type:ty);)*) => {
        $(fn $method(self, value: $type) -> Result<(), Error> {
            number(value.into(), self.0);
            Ok(())
        })*
    };
}

macro_rules! as_serde_json {
    ($($method:ident($type:ty);)*) => {
        $(fn $method(self, value: $type) -> Result<(), Error> {
            serde_json::to_writer(self.0, &value)
        })*
    };
}

impl<'o> Serializer for Json<'o> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Inside<'o>;
    type SerializeTuple = Inside<'o>;
    type SerializeTupleStruct = Inside<'o>;
    type SerializeTupleVariant = Inside<'o>;
    type SerializeMap = Inside<'o>;
    type SerializeStruct = Inside<'o>;
    type SerializeStructVariant = Inside<'o>;

    numbers! {
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
    }

    as_serde_json! {
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u128(u128);
        serialize_f32(f32);
        serialize_char(char);
        serialize_bytes(&[u8]);
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        if thousandths(value, self.0) { Ok(()) } else { serde_json::to_writer(self.0, &value) }
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.0.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        text(value, self.0)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        plain(variant, self.0);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let Json(out) = self.variant(variant);
        value.serialize(Json(out))?;
        out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Inside<'o>, Error> {
        Ok(self.inside(b'[', b']'))
    }

    fn serialize_tuple(self, _: usize) -> Result<Inside<'o>, Error> {
        Ok(self.inside(b'[', b']'))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Inside<'o>, Error> {
        Ok(self.inside(b'[', b']'))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Inside<'o>, Error> {
        Ok(Inside { of_variant: true, ..self.variant(variant).inside(b'[', b']') })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Inside<'o>, Error> {
        Ok(self.inside(b'{', b'}'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Inside<'o>, Error> {
        Ok(self.inside(b'{', b'}'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Inside<'o>, Error> {
        Ok(Inside { of_variant: true, ..self.variant(variant).inside(b'{', b'}') })
    }
}

macro_rules! lists {
    ($($trait:ident, $method:ident;)*) => {
        $(impl ser::$trait for Inside<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.element(value)
            }

            fn end(self) -> Result<(), Error> {
                self.finish();
                Ok(())
            }
        })*
    };
}

lists! {
    SerializeSeq, serialize_element;
    SerializeTuple, serialize_element;
    SerializeTupleStruct, serialize_field;
    SerializeTupleVariant, serialize_field;
}

macro_rules! objects {
    ($($trait:ident;)*) => {
        $(impl ser::$trait for Inside<'_> {
            type Ok = ();
            type Error = Error;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), Error> {
                self.finish();
                Ok(())
            }
        })*
    };
}

objects! {
    SerializeStruct;
    SerializeStructVariant;
}

impl ser::SerializeMap for Inside<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let at = self.out.len();
        key.serialize(Json(self.out))?;
        match self.out.get(at) {
            Some(b'"') => Ok(()),
            // A number or a flag becomes a text.
            Some(b'0'..=b'9' | b'-' | b't' | b'f') => {
                self.out.insert(at, b'"');
                self.out.push(b'"');
                Ok(())
            }
            _ => Err(Error::custom("a key that is no text")),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.out.push(b':');
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.finish();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    enum Shape {
        Unit,
        Newtype(Option<f64>),
        Tuple(i64, u8),
        Struct { name: String, more: Vec<Shape> },
    }

    #[derive(Serialize)]
    struct Whole<'w> {
        shapes: Vec<Shape>,
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<bool>,
        map: BTreeMap<&'w str, (u64, f32, char)>,
        flags: BTreeMap<bool, i8>,
        numbers: BTreeMap<i64, u8>,
        nothing: (),
        bytes: &'w [u8],
    }

    proptest! {
        #[test]
        fn it_is_what_serde_json_writes(
            name in "\\PC{0,40}|[\\x00-\\x7f]{0,40}|[a-z ]{0,60}[\"\\\\\n]?[a-z ]{0,20}",
            float in prop::option::of(any::<f64>()),
            count in any::<u64>(),
            signed in any::<i64>(),
            yes in any::<bool>(),
        ) {
            let more = vec![Shape::Unit, Shape::Newtype(float), Shape::Tuple(signed, count as u8)];
            let whole = Whole {
                shapes: vec![Shape::Struct { name: name.clone(), more }, Shape::Struct { name: String::new(), more: vec![] }],
                absent: yes.then_some(yes),
                map: [(name.as_str(), (count, 0.1, '"')), ("", (count % 1000, 1.0, 'a'))].into(),
                flags: [(yes, -1)].into(),
                numbers: [(signed, 1), (0, 2)].into(),
                nothing: (),
                bytes: &[0, 255],
            };
            prop_assert_eq!(to_string(&whole, 0).unwrap(), serde_json::to_string(&whole).unwrap());
        }
    }

    proptest! {
        #[test]
        fn thousandths_are_what_serde_json_writes(whole in any::<i32>(), scale in 0..5u32) {
            let value = f64::from(whole % 10_i32.pow(2 * scale)) / 1000.0;
            for value in [value, -value, value + 1e-9, value / 7.0] {
                prop_assert_eq!(to_string(&value, 0).unwrap(), serde_json::to_string(&value).unwrap());
            }
        }
    }

    #[test]
    fn large_numbers_are_what_serde_json_writes() {
        for value in [999_999.998, 999_999.999, 1_000_000.0, 1_000_000.001, 4e9, 1e15, 1e16, 1e21] {
            for value in [value, -value] {
                assert_eq!(to_string(&value, 0).unwrap(), serde_json::to_string(&value).unwrap());
            }
        }
    }

    #[test]
    fn a_key_must_be_a_text_or_become_one() {
        assert!(to_string(&BTreeMap::from([(None::<u8>, 1)]), 0).is_err());
        assert!(to_string(&BTreeMap::from([(vec![1], 1)]), 0).is_err());
    }
}
