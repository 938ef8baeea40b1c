//! `"value" < time()` in PHP 7.4 and 8.2: stamps, tokens, words and numbers of all spellings.

use lockshift_legacy::{Comparison, Number, Reader};

use crate::{bytes, lines};

const MEASURED: &str = include_str!("../data/php-compare.tsv");

/// Judges every value as `reader` does; the answer of the real PHP is in that column.
fn judge(reader: Reader, column: usize) -> usize {
    let mut judged = 0;
    for line in lines(MEASURED).skip(1) {
        let (value, now) = (bytes(line[0]), Number::Int(line[1].parse().expect("seconds")));
        let less = reader.compare(&value, now) == Comparison::Less;
        assert_eq!(less.to_string(), line[column], "{reader} time(): {:?}", value.escape_ascii().to_string());
        judged += 1;
    }
    judged
}

#[test]
fn php_7_takes_over_the_same_75_values() {
    assert_eq!(judge(Reader::Php7, 2), 75);
}

#[test]
fn php_8_takes_over_the_same_75_values() {
    assert_eq!(judge(Reader::Php8, 3), 75);
}

#[test]
fn the_versions_part_where_a_word_is_no_number() {
    let takes = |seven: &str, eight: &str| lines(MEASURED).filter(|line| line[2..] == [seven, eight]).count();
    assert_eq!(takes("true", "false"), 23, "taken over by PHP 7 and held by PHP 8");
    assert_eq!(takes("false", "true"), 0, "PHP 8 takes over fewer values, and no others");
}

/// How PHP 8.2 prints these floats with 14 digits; a text that is no number is compared with that.
const PRINTED: [(f64, &str); 16] = [
    (0.0, "0"),
    (0.05, "0.05"),
    (0.25, "0.25"),
    (-0.25, "-0.25"),
    (0.00012, "0.00012"),
    (0.000012, "1.2E-5"),
    (0.000015, "1.5E-5"),
    (-1.5, "-1.5"),
    (100.0, "100"),
    (123.25, "123.25"),
    (1_700_000_000.123_456, "1700000000.1235"),
    (12_345_678_901_234.5, "12345678901234"),
    (1e13, "10000000000000"),
    (1e14, "1.0E+14"),
    (1e25, "1.0E+25"),
    (99_999_999_999_999.9, "1.0E+14"),
];

#[test]
fn php_8_compares_a_word_with_the_float_as_it_is_printed() {
    for (now, printed) in PRINTED {
        let (head, last) = printed.split_at(printed.len() - 1);
        let before = char::from(last.as_bytes()[0] - 1);
        let compare = |word: String| Reader::Php8.compare(word.as_bytes(), Number::Float(now));
        assert_eq!(compare(format!("{head}{before}x")), Comparison::Less, "{now}");
        assert_eq!(compare(format!("{printed}!")), Comparison::Greater, "{now}");
    }
}
