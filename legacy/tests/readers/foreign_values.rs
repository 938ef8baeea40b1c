//! Who takes over (`<`), respects (`>`), chokes on (`!`) or can never judge (`?`, NaN) whose value. Every value below
//! is a live lock with ten minutes to go, or a token without a time in it.

use lockshift_legacy::{Comparison, Number, Reader};

const NOW_S: i128 = 1_700_000_000;

/// The columns of the table, each with how many of its units make a second.
const READERS: [(Reader, i128); 14] = [
    (Reader::RubyToI, 1),
    (Reader::RubyToF, 1),
    (Reader::Python3Float, 1),
    (Reader::Php7, 1),
    (Reader::Php8, 1),
    (Reader::PhpIntCast, 1),
    (Reader::JavaParseLong, 1000),
    (Reader::JavaUuidLong, 1000),
    (Reader::CSharpTryParse, 1000),
    (Reader::JsParseInt10, 1000),
    (Reader::JsParseFloat, 1000),
    (Reader::GoParseInt, 1_000_000_000),
    (Reader::JavaBytes, 1000),
    (Reader::JavaFirstBytes, 1000),
];

#[rustfmt::skip]
const VALUES: [(&str, &str, &[u8]); 23] = [
//    Ruby  Py    PHP         Java      C#   JS         Go  Java bytes
    ("> >   >     >   >   >   <   <     <    <  <       <   ! >", "decimal seconds", b"1700000600"),
    ("> >   >     >   >   >   >   <     >    >  >       <   ! >", "decimal milliseconds", b"1700000600000"),
    ("> >   >     >   >   >   !   <     !    <  <       !   ! >", "float seconds", b"1700000600.12"),
    ("> >   >     >   >   >   >   <     >    >  >       >   ! >", "nanoseconds", b"1700000600000000000"),
    ("< <   !     <   <   <   !   <     !    ?  ?       !   > >", "big-endian ms", b"\0\0\x01\x8b\xcf\xee\x8f\xc0"),
    ("< <   !     <   <   <   !   <     !    ?  ?       !   ! !", "empty", b""),
    ("< <   <     <   <   <   <   <     <    <  <       <   ! !", "1", b"1"),
    ("< <   !     <   >   <   !   <     !    ?  ?       !   ! !", "true", b"true"),
    ("< <   !     <   <   <   !   <     !    <  <       !   ! >", "uuid 0...", b"0b2fb4f6-58cc-4372-a567-0e022c3d0479"),
    ("< <   !     <   <   <   !   <     !    <  <       !   ! >", "uuid 16...", b"16acb4f6-58cc-4372-a567-0e022c3d0479"),
    ("< <   !     <   >   <   !   <     !    <  <       !   ! >", "uuid 18...", b"18acb4f6-58cc-4372-a567-0e022c3d0479"),
    ("< <   !     <   >   <   !   <     !    <  <       !   ! >", "uuid 5...", b"5b2fb4f6-58cc-4372-a567-0e022c3d0479"),
    ("< >   !     >   >   <   !   <     !    <  >       !   ! >", "uuid 550e8400...", b"550e8400-e29b-41d4-a716-446655440000"),
    ("< >   !     >   >   >   !   <     !    <  <       !   ! >", "uuid 4e11...", b"4e11b4f6-58cc-4372-a567-0e022c3d0479"),
    ("< <   !     <   >   <   !   <     !    ?  ?       !   ! >", "uuid a...", b"afcac10b-58cc-4372-a567-0e022c3d0479"),
    ("< <   !     <   >   <   !   <     !    ?  ?       !   ! >", "hex token", b"f47ac10b58cc4372a5670e02b2c3d479"),
    ("> >   !     >   >   >   !   <     !    <  <       !   ! >", "sec-pid-tid", b"1700000600-12-7"),
    ("> >   !     >   >   >   !   <     !    <  <       !   ! >", "sec:pid", b"1700000600:77"),
    ("< <   !     <   >   <   !   <     !    ?  ?       !   ! >", "JSON expire", br#"{"expire":1700000600}"#),
    ("< <   !     <   >   <   !   <     !    ?  ?       !   ! >", "JSON list", br#"[1700000600,"id"]"#),
    ("< <   !     <   >   <   !   >     !    <  <       !   ! >", "uuid:ms 9...", b"9f47b4f6-58cc-4372-a567-0e022c3d0479:1700000600000"),
    ("< <   !     <   >   <   !   >     !    ?  ?       !   ! >", "uuid:ms a...", b"afcac10b-58cc-4372-a567-0e022c3d0479:1700000600000"),
    ("< <   !     <   >   <   !   <     !    <  <       !   ! >", ".NET date", b"2023-11-14 22:23:20.000"),
];

#[test]
fn every_reader_does_to_a_foreign_value_what_the_table_says() {
    for (cells, what, value) in VALUES {
        let cells: Vec<&str> = cells.split_whitespace().collect();
        assert_eq!(cells.len(), READERS.len(), "{what}: a cell for every reader");
        for ((reader, per_second), cell) in READERS.into_iter().zip(cells) {
            let comparison = reader.compare(value, Number::Int(NOW_S * per_second));
            assert_eq!(symbol(comparison), cell, "{reader} finds {what}");
        }
    }
}

/// A string that was never cast is greater than every number in Python 2, so nothing ever expires.
#[test]
fn python_2_without_a_cast_waits_for_ever() {
    for (_, what, value) in VALUES {
        assert_eq!(Reader::Python2Uncast.compare(value, Number::Int(i128::MAX)), Comparison::Greater, "{what}");
    }
}

/// The JSON readers wait for what is no JSON, but of a JSON number they take a member, which is `null`, and take over.
#[test]
fn json_readers_take_over_bare_stamps() {
    let compare = |reader: Reader, value: &[u8]| symbol(reader.compare(value, Number::Int(NOW_S)));
    for reader in [Reader::Php7JsonExpire, Reader::Php8JsonExpire] {
        assert_eq!(compare(reader, b"1700000600"), "<", "{reader}");
        assert_eq!(compare(reader, b"1700000600:77"), "!", "{reader}");
        assert_eq!(compare(reader, b"afcac10b-58cc-4372-a567-0e022c3d0479"), "!", "{reader}");
    }
    for reader in [Reader::Php7JsonFirst, Reader::Php8JsonFirst] {
        assert_eq!(compare(reader, b"1700000600"), "<", "{reader}");
        assert_eq!(compare(reader, b"1700000600:77"), "<", "{reader}");
        assert_eq!(compare(reader, b"afcac10b-58cc-4372-a567-0e022c3d0479"), "<", "{reader}");
    }
    assert_eq!(compare(Reader::RubyJsonExpireAt, b"1700000600"), "!");
    assert_eq!(compare(Reader::RubyJsonExpireAt, br#"{"expire":1700000600}"#), "<", "nil.to_f is 0.0");
}

/// ASCII is a very large number when eight of its bytes are read as one: the lock is held for some 100 million years.
#[test]
fn text_read_as_eight_bytes_never_expires() {
    let year_2200_ms = Number::Int(7_258_118_400_000);
    assert_eq!(Reader::JavaFirstBytes.number(b"1700000600"), Some(Number::Int(0x3137_3030_3030_3036)));
    assert_eq!(Reader::JavaFirstBytes.compare(b"1700000600", year_2200_ms), Comparison::Greater);
    assert_eq!(Reader::CSharpBytes.compare(b"1700000600", year_2200_ms), Comparison::Greater);
}

/// The page that names no language: digits and nothing else, of which there may be any number.
#[test]
fn a_decimal_is_nothing_but_digits() {
    for (value, number) in [("1700000600", 1_700_000_600), ("007", 7), (&"9".repeat(60), i128::MAX)] {
        assert_eq!(Reader::Decimal.number(value.as_bytes()), Some(Number::Int(number)), "{value}");
    }
    for value in ["", "+1", "-1", " 1", "1\n", "1.0", "1e3", "0x1", "1_000", "١"] {
        assert_eq!(Reader::Decimal.compare(value.as_bytes(), Number::Int(0)), Comparison::Unreadable, "{value:?}");
    }
}

fn symbol(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Less => "<",
        Comparison::Equal => "=",
        Comparison::Greater => ">",
        Comparison::Unordered => "?",
        Comparison::Unreadable => "!",
    }
}

/// Measured with Node 20. A hexadecimal number half-way between two floats becomes the even one, and the next one if any later
/// digit is not zero.
#[test]
fn far_digits_of_a_hexadecimal_number_decide_a_tie() {
    let number = |text: &str| Reader::JsNumber.number(text.as_bytes());
    let half_way = format!("0x80000000000004{}", "0".repeat(30));
    assert_eq!(number(&half_way), Some(Number::Float(4.789048565205903e52)));
    assert_eq!(number(&format!("{half_way}0")), Some(Number::Float(4.789048565205903e52 * 16.0)));
    let above = format!("0x80000000000004{}1", "0".repeat(29));
    assert_eq!(number(&above), Some(Number::Float(4.789048565205904e52)));
    assert_eq!(number(&format!("{above}0")), Some(Number::Float(4.789048565205904e52 * 16.0)));
}

/// Measured with Node 20.
#[test]
fn parse_int_negates_hexadecimal_numbers_too() {
    for (text, number) in [("-0x10", -16.0), ("+0x10", 16.0), ("0x10", 16.0), ("-7", -7.0)] {
        assert_eq!(Reader::JsParseInt.number(text.as_bytes()), Some(Number::Float(number)), "{text}");
    }
}
