//! How each language reads a stored value: its parser and its comparison, one row per reader.
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

/// The columns of the table below: how an expression makes a number of the bytes, and how it compares.
struct Expression {
    name: &'static str,
    number: fn(&[u8]) -> Option<Number>,
    order: fn(Number, Number) -> Comparison,
    otherwise: fn(&[u8], Number) -> Comparison,
}

impl Expression {
    /// Compares the number with now; a value without a number is unreadable.
    const fn new(name: &'static str, number: fn(&[u8]) -> Option<Number>) -> Self {
        Self { name, number, order: Number::promoted, otherwise: |_, _| Comparison::Unreadable }
    }

    /// Compares an integer with a float exactly.
    const fn exactly(self) -> Self {
        Self { order: Number::exactly, ..self }
    }

    /// Compares this expression if the value has no number.
    const fn otherwise(self, otherwise: fn(&[u8], Number) -> Comparison) -> Self {
        Self { otherwise, ..self }
    }
}

macro_rules! readers {
    ($($(#[doc = $doc:literal])* $reader:ident: $expression:expr;)*) => {
        /// A language's way from the bytes in the key to a comparison with now. Each stands for one expression of
        /// one language, in the versions named.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reader {
            $($(#[doc = $doc])* $reader,)*
        }

        impl Reader {
            /// Every reader, by language.
            pub const ALL: &[Self] = &[$(Self::$reader,)*];

            const fn expression(self) -> Expression {
                match self {
                    $(Self::$reader => $expression,)*
                }
            }
        }
    };
}

readers! {
    /// ASCII digits and nothing else, as the Redis SETNX page means them: it names no language.
    Decimal: Expression::new("decimal", decimal::plain);

    /// PHP 7: `$value < time()`, also `$value < microtime(true)`. The number that the text begins with, or 0.
    Php7: Expression::new("PHP 7 <", php::leading_number);
    /// PHP 8: `$value < time()`, also `$value < microtime(true)`. A text that is not a number is compared as text.
    Php8: Expression::new("PHP 8 <", php::numeric_string).otherwise(php::as_text);
    /// PHP 7: `explode(':', $value)[0] < time()`.
    Php7BeforeColon: Expression::new("PHP 7 sec:pid", |value| php::leading_number(php::before_colon(value)));
    /// PHP 8: `explode(':', $value)[0] < time()`.
    Php8BeforeColon: Expression::new("PHP 8 sec:pid", |value| php::numeric_string(php::before_colon(value)))
        .otherwise(|value, now| php::as_text(php::before_colon(value), now));
    /// PHP 7: `json_decode($value, true)['expire'] < time()`; unreadable if the value decodes to `null`.
    Php7JsonExpire: Expression::new("PHP 7 json.expire", |value| json::php7_expire(value)?.number(php::leading_number))
        .otherwise(|value, now| json::php7_expire(value).map_or(Comparison::Unreadable, |it| it.beside_number(now)));
    /// PHP 8: `json_decode($value, true)['expire'] < time()`; unreadable if the value decodes to `null` or a string.
    Php8JsonExpire: Expression::new("PHP 8 json.expire", |value| json::php8_expire(value)?.number(php::numeric_string))
        .otherwise(|value, now| json::php8_expire(value).map_or(Comparison::Unreadable, |it| it.beside_number(now)));
    /// PHP 7: `json_decode($value, true)[0] < time()`, where `null[0]` is `null` and that is less.
    Php7JsonFirst: Expression::new("PHP 7 json[0]", |value| json::php_first(value).number(php::leading_number))
        .otherwise(|value, now| json::php_first(value).beside_number(now));
    /// PHP 8: `json_decode($value, true)[0] < time()`, where `null[0]` is `null` and that is less.
    Php8JsonFirst: Expression::new("PHP 8 json[0]", |value| json::php_first(value).number(php::numeric_string))
        .otherwise(|value, now| json::php_first(value).beside_number(now));
    /// PHP 7.1 and later: `(int) $value <= time()`.
    PhpIntCast: Expression::new("PHP (int)", php::int_cast);
    /// PHP, any version: `is_number($value)` of Moodle, and `$value < time()` if so. Unreadable if not.
    PhpIsNumber: Expression::new("Moodle is_number", php::is_number);

    /// Ruby: `value.to_i < Time.now.to_i`. The integer that the text begins with, or 0.
    RubyToI: Expression::new("Ruby to_i", ruby::to_i).exactly();
    /// Ruby: `value.to_f < Time.now.to_f`. The float that the text begins with, or 0.0.
    RubyToF: Expression::new("Ruby to_f", ruby::to_f).exactly();
    /// Ruby: `value.split('-').first.to_i < Time.now.to_i`.
    RubyBeforeDash: Expression::new("Ruby sec-pid", ruby::before_dash).exactly();
    /// Ruby: `JSON.parse(value)['expire_at'].to_f < Time.now.to_f`.
    RubyJsonExpireAt: Expression::new("Ruby json.expire_at", json::ruby_expire_at).exactly();

    /// Python 2.6 and 2.7: `float(value) < time.time()`.
    Python2Float: Expression::new("Python 2 float", python::float).exactly();
    /// Python 3.6 and later: `float(value) < time.time()` on bytes.
    Python3Float: Expression::new("Python 3 float", python::float_with_underscores).exactly();
    /// Python 2: `int(value) - now > 0`.
    Python2Int: Expression::new("Python 2 int", python::int2).exactly();
    /// Python 2: `long(value) < now`, as redis-py had it before 2.2.4.
    Python2Long: Expression::new("Python 2 long", python::long2).exactly();
    /// Python 3.6 and later: `int(value) - now > 0` on bytes.
    Python3Int: Expression::new("Python 3 int", python::int3).exactly();
    /// Python 2: `value < now` without a cast, where every string is greater than every number.
    Python2Uncast: Expression::new("Python 2 str", |_| None).otherwise(python::str_beside_number);

    /// Java: `Long.parseLong(value) < System.currentTimeMillis()`.
    JavaParseLong: Expression::new("Java parseLong", java::parse_long);
    /// Java 9 and later: the `ms` of jedis-lock's `uuid:ms`, and 0 for everything else. Whose uuid it is, is not asked.
    JavaUuidLong: Expression::new("Java uuid:ms", java::uuid_and_long);
    /// Java: `ByteBuffer.wrap(value).getLong()` behind a check that there are exactly eight bytes.
    JavaBytes: Expression::new("Java BE64", java::eight_bytes);
    /// Java: `ByteBuffer.wrap(value).getLong()` without that check: the first eight bytes count.
    JavaFirstBytes: Expression::new("Java BE64 prefix", java::first_eight_bytes);

    /// C#: `long.TryParse(value, out n)`, then `n > now`. Unreadable if that is false.
    CSharpTryParse: Expression::new("C# TryParse", csharp::try_parse);
    /// C#: `long.TryParse(client.Get<string>(key), out n)` of ServiceStack, whose `Get<string>` takes a JSON string out of
    /// its quotes.
    CSharpJsonTryParse: Expression::new("C# JSON TryParse", |value| csharp::try_parse(csharp::unquoted(value)));
    /// C#: `long.Parse(value)`, and 0 where that throws (NewLife's `cache.Get<Int64>(key)`).
    CSharpParseOrZero: Expression::new("C# Parse or 0", csharp::parse_or_zero);
    /// C#: `BitConverter.ToInt64(value, 0)` on a little-endian machine.
    CSharpBytes: Expression::new("C# LE64", csharp::first_eight_bytes);
    /// C#: `DateTime.Parse(value)`, and `DateTime.MinValue` where that throws (NewLife's `cache.Get<DateTime>(key)`).
    /// The number is milliseconds since 1970 on the host's local clock, and so must now be.
    CSharpDateTime: Expression::new("C# DateTime", csharp::date_time);

    /// JavaScript: `parseInt(value, 10) > Date.now()`.
    JsParseInt10: Expression::new("JS parseInt 10", javascript::parse_int_10);
    /// JavaScript: `parseInt(value) > now`, without a radix.
    JsParseInt: Expression::new("JS parseInt", javascript::parse_int);
    /// JavaScript: `parseFloat(value) > Date.now()`.
    JsParseFloat: Expression::new("JS parseFloat", javascript::parse_float);
    /// JavaScript: `value > Date.now()` and `value == number` on the string itself, which is `Number(value)`.
    JsNumber: Expression::new("JS Number", javascript::coerce);

    /// Go: `strconv.ParseInt(value, 10, 64)`. Unreadable if there is an error.
    GoParseInt: Expression::new("Go ParseInt", go::parse_int);
    /// Go: `strconv.ParseInt(value, 10, 64)`, where an overflow counts as the largest (smallest) number.
    GoParseIntClamped: Expression::new("Go ParseInt clamped", go::parse_int_clamped);
}

/// One value in the eyes of two versions of one language:
///
/// ```
/// use lockshift_legacy::{Comparison, Number, Reader};
///
/// let (token, now) = (b"afcac10b-58cc-4372-a567-0e022c3d0479", Number::Int(1_700_000_000));
/// assert_eq!(Reader::Php7.compare(token, now), Comparison::Less, "no digits at the start: 0, long expired");
/// assert_eq!(Reader::Php8.compare(token, now), Comparison::Greater, "not a number: the text, and 'a' comes after '1'");
/// ```
impl Reader {
    /// A short name for tables: the language and the expression.
    pub const fn name(self) -> &'static str {
        self.expression().name
    }

    /// The number that the language makes of the value; `None` where it raises, refuses, or compares without one.
    pub fn number(self, value: &[u8]) -> Option<Number> {
        (self.expression().number)(value)
    }

    /// How the value compares with `now`, both in the dialect's unit.
    pub fn compare(self, value: &[u8], now: Number) -> Comparison {
        let expression = self.expression();
        match (expression.number)(value) {
            Some(number) => (expression.order)(number, now),
            None => (expression.otherwise)(value, now),
        }
    }
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
