//! How each language reads a value that somebody left in the key: its parser and its comparison, one row per reader.
//! Whether the outcome means expired or held is the dialect's business.

mod csharp;
mod decimal;
mod go;
mod java;
mod javascript;
mod json;
mod number;
mod php;
mod python;
mod ruby;

use core::fmt;

pub use number::{Comparison, Number};

/// The columns of the table below: how a reader gets at a number, and how it compares.
struct Way {
    name: &'static str,
    number: fn(&[u8]) -> Option<Number>,
    order: fn(Number, Number) -> Comparison,
    otherwise: fn(&[u8], Number) -> Comparison,
}

impl Way {
    /// Compares the number with now, and is at a loss without a number.
    const fn new(name: &'static str, number: fn(&[u8]) -> Option<Number>) -> Self {
        Self { name, number, order: Number::promoted, otherwise: |_, _| Comparison::Unreadable }
    }

    /// Beside a float, an integer stays what it is.
    const fn exactly(self) -> Self {
        Self { order: Number::exactly, ..self }
    }

    /// Compares some other way where there is no number.
    const fn otherwise(self, otherwise: fn(&[u8], Number) -> Comparison) -> Self {
        Self { otherwise, ..self }
    }
}

macro_rules! readers {
    ($($(#[doc = $doc:literal])* $reader:ident: $way:expr;)*) => {
        /// A language's way from the bytes in the key to a comparison with now. Each stands for one expression of
        /// one language, in the versions named.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reader {
            $($(#[doc = $doc])* $reader,)*
        }

        impl Reader {
            /// Every reader, by language.
            pub const ALL: &[Self] = &[$(Self::$reader,)*];

            const fn way(self) -> Way {
                match self {
                    $(Self::$reader => $way,)*
                }
            }
        }
    };
}

readers! {
    /// ASCII digits and nothing else, as the Redis SETNX page means them: it names no language.
    Decimal: Way::new("decimal", decimal::plain);

    /// PHP 7: `$value < time()`, also `$value < microtime(true)`. The number that the text begins with, or 0.
    Php7: Way::new("PHP 7 <", php::leading_number);
    /// PHP 8: `$value < time()`, also `$value < microtime(true)`. A text that is no number is compared as text.
    Php8: Way::new("PHP 8 <", php::numeric_string).otherwise(php::as_text);
    /// PHP 7: `explode(':', $value)[0] < time()`.
    Php7BeforeColon: Way::new("PHP 7 sec:pid", |value| php::leading_number(php::before_colon(value)));
    /// PHP 8: `explode(':', $value)[0] < time()`.
    Php8BeforeColon: Way::new("PHP 8 sec:pid", |value| php::numeric_string(php::before_colon(value)))
        .otherwise(|value, now| php::as_text(php::before_colon(value), now));
    /// PHP 7: `json_decode($value, true)['expire'] < time()`; unreadable if the value decodes to `null`.
    Php7JsonExpire: Way::new("PHP 7 json.expire", |value| json::php7_expire(value)?.number(php::leading_number))
        .otherwise(|value, now| json::php7_expire(value).map_or(Comparison::Unreadable, |it| it.beside_number(now)));
    /// PHP 8: `json_decode($value, true)['expire'] < time()`; unreadable if the value decodes to `null` or a string.
    Php8JsonExpire: Way::new("PHP 8 json.expire", |value| json::php8_expire(value)?.number(php::numeric_string))
        .otherwise(|value, now| json::php8_expire(value).map_or(Comparison::Unreadable, |it| it.beside_number(now)));
    /// PHP 7: `json_decode($value, true)[0] < time()`, where `null[0]` is `null` and that is less.
    Php7JsonFirst: Way::new("PHP 7 json[0]", |value| json::php_first(value).number(php::leading_number))
        .otherwise(|value, now| json::php_first(value).beside_number(now));
    /// PHP 8: `json_decode($value, true)[0] < time()`, where `null[0]` is `null` and that is less.
    Php8JsonFirst: Way::new("PHP 8 json[0]", |value| json::php_first(value).number(php::numeric_string))
        .otherwise(|value, now| json::php_first(value).beside_number(now));
    /// PHP 7.1 and later: `(int) $value <= time()`.
    PhpIntCast: Way::new("PHP (int)", php::int_cast);
    /// PHP, any version: `is_number($value)` of Moodle, and `$value < time()` if so. Unreadable if not.
    PhpIsNumber: Way::new("Moodle is_number", php::is_number);

    /// Ruby: `value.to_i < Time.now.to_i`. The integer that the text begins with, or 0.
    RubyToI: Way::new("Ruby to_i", ruby::to_i).exactly();
    /// Ruby: `value.to_f < Time.now.to_f`. The float that the text begins with, or 0.0.
    RubyToF: Way::new("Ruby to_f", ruby::to_f).exactly();
    /// Ruby: `value.split('-').first.to_i < Time.now.to_i`.
    RubyBeforeDash: Way::new("Ruby sec-pid", ruby::before_dash).exactly();
    /// Ruby: `JSON.parse(value)['expire_at'].to_f < Time.now.to_f`.
    RubyJsonExpireAt: Way::new("Ruby json.expire_at", json::ruby_expire_at).exactly();

    /// Python 2.6 and 2.7: `float(value) < time.time()`.
    Python2Float: Way::new("Python 2 float", python::float).exactly();
    /// Python 3.6 and later: `float(value) < time.time()` on bytes.
    Python3Float: Way::new("Python 3 float", python::float_with_underscores).exactly();
    /// Python 2: `int(value) - now > 0`.
    Python2Int: Way::new("Python 2 int", python::int2).exactly();
    /// Python 2: `long(value) < now`, as redis-py had it before 2.2.4.
    Python2Long: Way::new("Python 2 long", python::long2).exactly();
    /// Python 3.6 and later: `int(value) - now > 0` on bytes.
    Python3Int: Way::new("Python 3 int", python::int3).exactly();
    /// Python 2: `value < now` without a cast, where every string is greater than every number.
    Python2Uncast: Way::new("Python 2 str", |_| None).otherwise(python::str_beside_number);

    /// Java: `Long.parseLong(value) < System.currentTimeMillis()`.
    JavaParseLong: Way::new("Java parseLong", java::parse_long);
    /// Java 9 and later: the `ms` of jedis-lock's `uuid:ms`, and 0 for everything else. Whose uuid it is, is not asked.
    JavaUuidLong: Way::new("Java uuid:ms", java::uuid_and_long);
    /// Java: `ByteBuffer.wrap(value).getLong()` behind a check that there are exactly eight bytes.
    JavaBytes: Way::new("Java BE64", java::eight_bytes);
    /// Java: `ByteBuffer.wrap(value).getLong()` without that check: the first eight bytes count.
    JavaFirstBytes: Way::new("Java BE64 prefix", java::first_eight_bytes);

    /// C#: `long.TryParse(value, out n)`, then `n > now`. Unreadable if that is false.
    CSharpTryParse: Way::new("C# TryParse", csharp::try_parse);
    /// C#: `long.TryParse(client.Get<string>(key), out n)` of ServiceStack, whose `Get<string>` takes a JSON string out of
    /// its quotes.
    CSharpJsonTryParse: Way::new("C# JSON TryParse", |value| csharp::try_parse(csharp::unquoted(value)));
    /// C#: `long.Parse(value)`, and 0 where that throws (NewLife's `cache.Get<Int64>(key)`).
    CSharpParseOrZero: Way::new("C# Parse or 0", csharp::parse_or_zero);
    /// C#: `BitConverter.ToInt64(value, 0)` on a little-endian machine.
    CSharpBytes: Way::new("C# LE64", csharp::first_eight_bytes);
    /// C#: `DateTime.Parse(value)`, and `DateTime.MinValue` where that throws (NewLife's `cache.Get<DateTime>(key)`).
    /// The number is milliseconds since 1970 on the host's local clock, and so must now be.
    CSharpDateTime: Way::new("C# DateTime", csharp::date_time);

    /// JavaScript: `parseInt(value, 10) > Date.now()`.
    JsParseInt10: Way::new("JS parseInt 10", javascript::parse_int_10);
    /// JavaScript: `parseInt(value) > now`, without a radix.
    JsParseInt: Way::new("JS parseInt", javascript::parse_int);
    /// JavaScript: `parseFloat(value) > Date.now()`.
    JsParseFloat: Way::new("JS parseFloat", javascript::parse_float);
    /// JavaScript: `value > Date.now()` and `value == number` on the string itself, which is `Number(value)`.
    JsNumber: Way::new("JS Number", javascript::coerce);

    /// Go: `strconv.ParseInt(value, 10, 64)`. Unreadable if there is an error.
    GoParseInt: Way::new("Go ParseInt", go::parse_int);
    /// Go: `strconv.ParseInt(value, 10, 64)`, where an overflow counts as the largest (smallest) number.
    GoParseIntClamped: Way::new("Go ParseInt clamped", go::parse_int_clamped);
}

/// One value in the eyes of two versions of one language:
///
/// ```
/// use lockshift_legacy::{Comparison, Number, Reader};
///
/// let (token, now) = (b"afcac10b-58cc-4372-a567-0e022c3d0479", Number::Int(1_700_000_000));
/// assert_eq!(Reader::Php7.compare(token, now), Comparison::Less, "no digits at the start: 0, long expired");
/// assert_eq!(Reader::Php8.compare(token, now), Comparison::Greater, "no number: the text, and 'a' is behind '1'");
/// ```
impl Reader {
    /// A short name for tables: the language and the expression.
    pub const fn name(self) -> &'static str {
        self.way().name
    }

    /// The number that the language makes of the value; `None` where it raises, refuses, or compares without one.
    pub fn number(self, value: &[u8]) -> Option<Number> {
        (self.way().number)(value)
    }

    /// How the value compares with `now`, both in the dialect's unit.
    pub fn compare(self, value: &[u8], now: Number) -> Comparison {
        let way = self.way();
        match (way.number)(value) {
            Some(number) => (way.order)(number, now),
            None => (way.otherwise)(value, now),
        }
    }
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
