//! What clients push about themselves (KIP-714): OpenTelemetry's `MetricsData` in protocol buffers, read without trust.
//!
//! ```text
//! MetricsData   { 1 repeated ResourceMetrics }
//! ResourceMetrics { 2 repeated ScopeMetrics }    ScopeMetrics { 2 repeated Metric }
//! Metric        { 1 name, 5 Gauge | 7 Sum | 9 Histogram }
//! Gauge         { 1 repeated NumberDataPoint }
//! Sum           { 1 repeated NumberDataPoint, 2 temporality (1 delta, 2 cumulative) }
//! Histogram     { 1 repeated HistogramDataPoint, 2 temporality }
//! NumberDataPoint { 4 double | 6 sfixed64, 7 repeated KeyValue }
//! HistogramDataPoint { 4 fixed64 count, 5 double sum, 9 repeated KeyValue }
//! KeyValue      { 1 key, 2 AnyValue { 1 string | 2 bool | 3 int | 4 double } }
//! ```

use bytes::Buf;
use std::sync::Arc;

/// Messages within messages, at most; those of metrics need eight.
const DEPTH_MAX: usize = 16;
/// Points in one push, at most.
const POINTS_MAX: usize = 100_000;
/// Attributes of one point, at most; OpenTelemetry's own limit is 128.
const ATTRIBUTES_MAX: usize = 128;
/// The longest name, key or text that is kept whole, in bytes.
const TEXT_MAX: usize = 256;

/// One figure that a client pushed.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The figure's name, cut to 256 bytes.
    pub name: Arc<str>,
    /// Its attributes, by key; the texts are cut likewise.
    pub attributes: Vec<(String, String)>,
    /// Its value.
    pub value: f64,
    /// Whether the value is what came since the last push, rather than in all.
    pub delta: bool,
}

/// The bytes are no metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not metrics in OpenTelemetry's form: {0}")]
pub struct Malformed(&'static str);

/// One field of a message.
#[derive(Clone, Copy)]
enum Value<'a> {
    Number(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
    Small,
}

/// The fields of a message, one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn next(&mut self) -> Result<Option<(u64, Value<'a>)>, Malformed> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Fixed(self.0.try_get_u64_le().map_err(|_| Malformed("a number is cut"))?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Malformed("a length is absurd"))?;
                let (bytes, rest) = self.0.split_at_checked(length).ok_or(Malformed("a field is cut"))?;
                self.0 = rest;
                Value::Bytes(bytes)
            }
            5 => {
                self.0.try_get_u32_le().map_err(|_| Malformed("a number is cut"))?;
                Value::Small
            }
            _ => return Err(Malformed("a field has no known form")),
        };
        Ok(Some((tag >> 3, value)))
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.0.try_get_u8().map_err(|_| Malformed("a number is cut"))?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed("a number is too long"))
    }
}

/// Calls `found` with each field of these bytes.
fn walk<'a>(
    bytes: &'a [u8],
    mut found: impl FnMut(u64, Value<'a>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut fields = Fields(bytes);
    while let Some((number, value)) = fields.next()? {
        found(number, value)?;
    }
    Ok(())
}

/// Calls `found` with each figure of a push, one after the other: together they may take far more memory than their
/// bytes. It is called only when all bytes are good.
///
/// # Errors
/// [`Malformed`] for bytes that are something else, or hold more than anybody measures.
pub fn points(bytes: &[u8], found: &mut dyn FnMut(Point)) -> Result<(), Malformed> {
    let mut count = 0_usize;
    each(bytes, &mut |_| {
        count += 1;
        if count > POINTS_MAX { Err(Malformed("there are too many figures")) } else { Ok(()) }
    })?;
    each(bytes, &mut |point| {
        found(point);
        Ok(())
    })
}

/// Who gets the figures.
type Sink<'a> = dyn FnMut(Point) -> Result<(), Malformed> + 'a;

fn each(bytes: &[u8], found: &mut Sink<'_>) -> Result<(), Malformed> {
    // Resource and scope differ from metrics only in what lies beside them.
    nested(bytes, &[1, 2, 2], &mut |metric| read_metric(metric, found))
}

fn text(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes.get(..TEXT_MAX).unwrap_or(bytes)).into_owned();
    text.truncate(text.floor_char_boundary(TEXT_MAX));
    text
}

/// Calls `found` with the messages at the end of a path of field numbers.
fn nested(
    bytes: &[u8],
    path: &[u64],
    found: &mut dyn FnMut(&[u8]) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    debug_assert!(path.len() < DEPTH_MAX, "paths are written here");
    let Some((first, rest)) = path.split_first() else { return found(bytes) };
    walk(bytes, |number, value| match value {
        Value::Bytes(inner) if number == *first => nested(inner, rest, found),
        Value::Number(_) | Value::Fixed(_) | Value::Bytes(_) | Value::Small => Ok(()),
    })
}

fn read_metric(bytes: &[u8], found: &mut Sink<'_>) -> Result<(), Malformed> {
    let mut name: Arc<str> = Arc::from("");
    walk(bytes, |number, value| {
        if let (1, Value::Bytes(bytes)) = (number, value) {
            name = Arc::from(text(bytes));
        }
        Ok(())
    })?;
    walk(bytes, |number, value| match (number, value) {
        (5 | 7, Value::Bytes(numbers)) => {
            let delta = is_delta(numbers)?;
            nested(numbers, &[1], &mut |point| read_number(point, &name, delta, found))
        }
        (9, Value::Bytes(histogram)) => {
            let delta = is_delta(histogram)?;
            nested(histogram, &[1], &mut |point| read_histogram(point, &name, delta, found))
        }
        _ => Ok(()),
    })
}

fn is_delta(bytes: &[u8]) -> Result<bool, Malformed> {
    let mut delta = false;
    walk(bytes, |number, value| {
        if let (2, Value::Number(temporality)) = (number, value) {
            delta = temporality == 1;
        }
        Ok(())
    })?;
    Ok(delta)
}

#[expect(clippy::cast_precision_loss, reason = "Prometheus has no other numbers")]
fn read_number(bytes: &[u8], name: &Arc<str>, delta: bool, found: &mut Sink<'_>) -> Result<(), Malformed> {
    let mut point = Point { name: Arc::clone(name), attributes: Vec::new(), value: 0.0, delta };
    walk(bytes, |number, value| {
        match (number, value) {
            (4, Value::Fixed(bits)) => point.value = f64::from_bits(bits),
            (6, Value::Fixed(bits)) => point.value = bits.cast_signed() as f64,
            (7, Value::Bytes(pair)) => add(&mut point.attributes, pair)?,
            _ => {}
        }
        Ok(())
    })?;
    found(point)
}

/// A distribution as Prometheus' summaries have it: how many values, and their sum.
#[expect(clippy::cast_precision_loss, reason = "Prometheus has no other numbers")]
fn read_histogram(bytes: &[u8], name: &str, delta: bool, found: &mut Sink<'_>) -> Result<(), Malformed> {
    let (mut count, mut sum, mut attributes) = (0.0, 0.0, Vec::new());
    walk(bytes, |number, value| {
        match (number, value) {
            (4, Value::Fixed(values)) => count = values as f64,
            (5, Value::Fixed(bits)) => sum = f64::from_bits(bits),
            (9, Value::Bytes(pair)) => add(&mut attributes, pair)?,
            _ => {}
        }
        Ok(())
    })?;
    for (part, value) in [("count", count), ("sum", sum)] {
        let (name, attributes) = (Arc::from(format!("{name}.{part}")), attributes.clone());
        found(Point { name, attributes, value, delta })?;
    }
    Ok(())
}

fn add(attributes: &mut Vec<(String, String)>, pair: &[u8]) -> Result<(), Malformed> {
    if attributes.len() >= ATTRIBUTES_MAX {
        return Err(Malformed("a figure has too many attributes"));
    }
    attributes.push(read_pair(pair)?);
    Ok(())
}

fn read_pair(bytes: &[u8]) -> Result<(String, String), Malformed> {
    let (mut key, mut shown) = (String::new(), String::new());
    walk(bytes, |number, value| match (number, value) {
        (1, Value::Bytes(bytes)) => {
            key = text(bytes);
            Ok(())
        }
        (2, Value::Bytes(any)) => walk(any, |number, value| {
            shown = match (number, value) {
                (1, Value::Bytes(bytes)) => text(bytes),
                (2, Value::Number(flag)) => (flag != 0).to_string(),
                (3, Value::Number(number)) => number.cast_signed().to_string(),
                (4, Value::Fixed(bits)) => f64::from_bits(bits).to_string(),
                _ => String::new(),
            };
            Ok(())
        }),
        _ => Ok(()),
    })?;
    Ok((key, shown))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![(number << 3) | 2];
        let mut length = bytes.len();
        while length > 0x7f {
            out.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
            length >>= 7;
        }
        out.push(u8::try_from(length).unwrap());
        out.extend_from_slice(bytes);
        out
    }

    fn fixed(number: u8, bits: u64) -> Vec<u8> {
        let mut out = vec![(number << 3) | 1];
        out.extend_from_slice(&bits.to_le_bytes());
        out
    }

    fn pair(number: u8, key: &str, value: &str) -> Vec<u8> {
        field(number, &[field(1, key.as_bytes()), field(2, &field(1, value.as_bytes()))].concat())
    }

    /// A push of one figure that counts up by `value`, with one attribute.
    pub(crate) fn push(name: &str, value: i64, delta: bool) -> Vec<u8> {
        let point = [fixed(6, value.cast_unsigned()), fixed(3, 7), pair(7, "node", "1")].concat();
        let sum = [field(1, &point), vec![2 << 3, if delta { 1 } else { 2 }]].concat();
        let metric = [field(1, name.as_bytes()), field(2, b"words"), field(7, &sum)].concat();
        field(1, &[field(1, b""), field(2, &[field(1, b""), field(2, &metric)].concat())].concat())
    }

    fn points(bytes: &[u8]) -> Result<Vec<Point>, Malformed> {
        let mut points = Vec::new();
        super::points(bytes, &mut |point| points.push(point))?;
        Ok(points)
    }

    #[test]
    fn what_would_grow_far_beyond_its_bytes_is_cut_or_refused() {
        let sum = |points: &[u8]| {
            let metric = [field(1, "ä".repeat(10_000).as_bytes()), field(7, points)].concat();
            field(1, &field(2, &field(2, &metric)))
        };
        let some = points(&sum(&field(1, b"").repeat(1000))).unwrap();
        assert_eq!((some.len(), some[0].name.len()), (1000, TEXT_MAX));
        assert!(some.iter().all(|point| Arc::ptr_eq(&point.name, &some[0].name)), "one name for all");
        assert!(points(&sum(&field(1, b"").repeat(POINTS_MAX + 1))).is_err());
        let attributes = |count: usize| sum(&field(1, &field(7, b"").repeat(count)));
        assert_eq!(points(&attributes(ATTRIBUTES_MAX)).unwrap()[0].attributes.len(), ATTRIBUTES_MAX);
        let mut calls = 0;
        let good_and_bad = [sum(&field(1, b"")), attributes(ATTRIBUTES_MAX + 1)].concat();
        assert!(super::points(&good_and_bad, &mut |_| calls += 1).is_err());
        assert_eq!(calls, 0, "all figures of a push or none");
    }

    #[test]
    fn numbers_and_distributions_are_read_with_their_attributes() {
        let attributes = || vec![("node".to_owned(), "1".to_owned())];
        let point = |name: &str, value, delta| Point {
            name: Arc::from(name),
            attributes: attributes(),
            value,
            delta,
        };
        assert_eq!(points(&push("a.total", -5, true)), Ok(vec![point("a.total", -5.0, true)]));
        assert_eq!(points(&push("a.total", 5, false)), Ok(vec![point("a.total", 5.0, false)]));
        let gauge = field(5, &field(1, &[fixed(4, 1.5f64.to_bits()), pair(7, "node", "1")].concat()));
        let spread = [fixed(4, 3), fixed(5, 4.5f64.to_bits()), pair(9, "node", "1")].concat();
        let histogram = field(9, &[field(1, &spread), vec![2 << 3, 2]].concat());
        let metric = |of: &[u8]| field(2, &[field(1, b"x"), of.to_vec()].concat());
        let whole = field(1, &field(2, &[metric(&gauge), metric(&histogram)].concat()));
        let expect = vec![point("x", 1.5, false), point("x.count", 3.0, false), point("x.sum", 4.5, false)];
        assert_eq!(points(&whole), Ok(expect));
        assert_eq!(points(b""), Ok(Vec::new()));
        assert!(points(b"no metrics at all").is_err());
        let cut = push("a", 1, true);
        assert!(points(&cut[..cut.len() - 1]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_figures_or_a_refusal(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            drop(points(&bytes));
        }
    }
}
