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
