//! What holds of all values: no reader panics, and stamps come back as they were written.

use core::cmp::Ordering;

use lockshift_legacy::{Comparison, Number, Reader};
use proptest::prelude::*;

/// The readers that understand a decimal integer standing alone.
const OF_DECIMALS: &[Reader] = &[
    Reader::Decimal,
    Reader::Php7,
    Reader::Php8,
    Reader::Php7BeforeColon,
    Reader::Php8BeforeColon,
    Reader::PhpIntCast,
    Reader::PhpIsNumber,
    Reader::RubyToI,
    Reader::RubyToF,
    Reader::RubyBeforeDash,
    Reader::Python2Float,
    Reader::Python3Float,
    Reader::Python2Int,
    Reader::Python2Long,
    Reader::Python3Int,
    Reader::JavaParseLong,
    Reader::CSharpTryParse,
    Reader::CSharpParseOrZero,
    Reader::JsParseInt10,
    Reader::JsParseInt,
    Reader::JsParseFloat,
    Reader::JsNumber,
    Reader::GoParseInt,
    Reader::GoParseIntClamped,
];

/// The readers that understand a decimal fraction to the end.
const OF_FLOATS: &[Reader] = &[
    Reader::Php7,
    Reader::Php8,
    Reader::RubyToF,
    Reader::Python2Float,
    Reader::Python3Float,
    Reader::JsParseFloat,
    Reader::JsNumber,
];

/// Bytes of all kinds, and texts that come near to numbers, dates, tokens and JSON.
fn values() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        "[-+0-9.eE_xL: \t\u{b}\0]{0,24}".prop_map(String::into_bytes),
        "[0-9a-f]{0,9}(-[0-9a-f]{0,9}){3,5}:[0-9]{0,20}".prop_map(String::into_bytes),
        "[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{0,8})?".prop_map(String::into_bytes),
        "[\\[{](\"(expire|expire_at|0)\":)?[-0-9.eE\"tfn\\[{]{0,12}[\\]}]".prop_map(String::into_bytes),
    ]
}

fn numbers() -> impl Strategy<Value = Number> {
    prop_oneof![any::<i128>().prop_map(Number::Int), any::<f64>().prop_map(Number::Float)]
}

proptest! {
    #[test]
    fn no_reader_panics(value in values(), now in numbers()) {
        for reader in Reader::ALL {
            let (number, comparison) = (reader.number(&value), reader.compare(&value, now));
            let nan = matches!(number, Some(Number::Float(float)) if float.is_nan());
            prop_assert!(!nan || comparison == Comparison::Unordered, "{} of NaN", reader);
            prop_assert!(number.is_none() || comparison != Comparison::Unreadable, "{} read {:?}", reader, number);
        }
    }

    #[test]
    fn a_decimal_stamp_comes_back(stamp in 0..i64::MAX) {
        for reader in OF_DECIMALS {
            match reader.number(stamp.to_string().as_bytes()) {
                Some(Number::Int(int)) => prop_assert_eq!(int, i128::from(stamp), "{}", reader),
                Some(Number::Float(float)) => prop_assert_eq!(float, stamp as f64, "{}", reader),
                None => prop_assert!(false, "{} refuses {}", reader, stamp),
            }
        }
    }

    #[test]
    fn a_fractional_stamp_comes_back(stamp in 0.0..4e12_f64) {
        // Not the text of a whole float: PHP would make an integer of it.
        prop_assume!(stamp.fract() != 0.0);
        for reader in OF_FLOATS {
            prop_assert_eq!(reader.number(stamp.to_string().as_bytes()), Some(Number::Float(stamp)), "{}", reader);
        }
    }

    #[test]
    fn a_binary_stamp_comes_back(stamp: i64) {
        let number = Some(Number::Int(i128::from(stamp)));
        prop_assert_eq!(Reader::JavaBytes.number(&stamp.to_be_bytes()), number);
        prop_assert_eq!(Reader::JavaFirstBytes.number(&stamp.to_be_bytes()), number);
        prop_assert_eq!(Reader::CSharpBytes.number(&stamp.to_le_bytes()), number);
    }

    #[test]
    fn an_owner_beside_the_stamp_does_not_change_it(stamp in 0..i64::MAX, owner in 0..99_999_u32) {
        let number = Some(Number::Int(i128::from(stamp)));
        prop_assert_eq!(Reader::RubyBeforeDash.number(format!("{stamp}-{owner}-1").as_bytes()), number);
        prop_assert_eq!(Reader::Php7BeforeColon.number(format!("{stamp}:{owner}").as_bytes()), number);
        prop_assert_eq!(Reader::Php8BeforeColon.number(format!("{stamp}:{owner}").as_bytes()), number);
        let uuid = format!("{owner:08x}-58cc-4372-a567-0e022c3d0479:{stamp}");
        prop_assert_eq!(Reader::JavaUuidLong.number(uuid.as_bytes()), number);
        let json = format!(r#"{{"expire":{stamp},"guid":"{owner}"}}"#);
        prop_assert_eq!(Reader::Php8JsonExpire.number(json.as_bytes()), number);
        let json = format!(r#"[{stamp},"{owner}"]"#);
        prop_assert_eq!(Reader::Php8JsonFirst.number(json.as_bytes()), number);
    }

    // Up to 2^53, where floats tell all integers apart.
    #[test]
    fn stamps_are_ordered_by_time(stamp in 0..1_i64 << 53, now in 0..1_i64 << 53, near in -2..=2_i64) {
        for now in [now, stamp.saturating_add(near).max(0)] {
            let expected = match stamp.cmp(&now) {
                Ordering::Less => Comparison::Less,
                Ordering::Equal => Comparison::Equal,
                Ordering::Greater => Comparison::Greater,
            };
            for reader in OF_DECIMALS {
                let value = stamp.to_string();
                let now = i128::from(now);
                prop_assert_eq!(reader.compare(value.as_bytes(), Number::Int(now)), expected, "{}", reader);
                prop_assert_eq!(reader.compare(value.as_bytes(), Number::Float(now as f64)), expected, "{}", reader);
            }
        }
    }
}
