//! Well-formed request bodies at random, from the schemas: what tests feed to decoders.

use crate::protocol::schema;
use crate::protocol::schema::Field;
use crate::protocol::schema::Kind;
use crate::protocol::versions;
use crate::protocol::wire::Writer;
use bytes::Bytes;

/// A body of the request with this key in this version; the same seed gives the same bytes. `None` for an API that is
/// not offered.
pub fn request(api_key: i16, version: i16, seed: u64) -> Option<Bytes> {
    let fields = schema::request(api_key)?;
    let flexible = versions::api(api_key)?.flexible(version);
    let mut maker = Maker { state: seed, version, flexible };
    let mut writer = Writer::plain(flexible);
    maker.fields(&mut writer, fields);
    Some(writer.into_bytes())
}

struct Maker {
    state: u64,
    version: i16,
    flexible: bool,
}

impl Maker {
    /// A number below `end` (splitmix64).
    fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn fields(&mut self, writer: &mut Writer, fields: &'static [Field]) {
        let version = self.version;
        for field in fields.iter().filter(|field| field.tag.is_none() && field.in_version(version)) {
            let null = version >= field.null_from && self.below(4) == 0;
            match &field.kind {
                Kind::Struct(inner) => {
                    if version >= field.null_from {
                        writer.i8(if null { -1 } else { 1 });
                    }
                    if !null {
                        self.fields(writer, inner);
                    }
                }
                Kind::Text if null => writer.nullable_string(None),
                _ if null => writer.nullable_length(None),
                kind => self.value(writer, kind),
            }
        }
        if !self.flexible {
            return;
        }
        let mut tags = Vec::new();
        for field in fields.iter().filter(|field| field.in_version(version)) {
            let sent = self.below(2) == 0;
            if let Some(tag) = field.tag.filter(|_| sent) {
                let mut value = Writer::plain(true);
                self.value(&mut value, &field.kind);
                tags.push((tag, value));
            }
        }
        if self.below(4) == 0 {
            let mut unknown = Writer::plain(true);
            self.value(&mut unknown, &Kind::Text);
            tags.push((1000, unknown));
        }
        writer.tags(&tags);
    }

    fn value(&mut self, writer: &mut Writer, kind: &'static Kind) {
        match kind {
            // Booleans and enumerations: values that survive any decoder.
            Kind::Fixed(1) => writer.bool(self.below(2) == 1),
            Kind::Fixed(size) => {
                for _ in 0..*size {
                    writer.i8(i8::try_from(self.below(128)).unwrap_or(0));
                }
            }
            Kind::Text => {
                let length = self.below(12);
                let text: String = (0..length).map(|_| if self.below(5) == 0 { 'é' } else { 'x' }).collect();
                writer.string(&text);
            }
            Kind::Blob => {
                let length = usize::try_from(self.below(40)).unwrap_or(0);
                writer.nullable_length(Some(length));
                for _ in 0..length {
                    writer.i8(i8::try_from(self.below(128)).unwrap_or(0));
                }
            }
            Kind::List(item) => {
                let count = usize::try_from(self.below(4)).unwrap_or(0);
                writer.count(count);
                for _ in 0..count {
                    self.value(writer, item);
                }
            }
            Kind::Struct(fields) => self.fields(writer, fields),
        }
    }
}
