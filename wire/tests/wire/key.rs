//! Keys as text: readable, and what is shown can be passed back.

use lockshift_wire::Key;
use proptest::prelude::*;

#[test]
fn a_key_of_text_is_shown_as_it_is() {
    for name in ["lock:42", "a b", r#"say "hi""#, r"C:\locks\1", "it's", "Grüße", "鍵", "🔒", "$x", "'quoted'", "{a}:b"]
    {
        assert_eq!(Key::from(name).to_string(), name);
        assert_eq!(Key::of_text(name), Key::from(name), "{name}");
    }
}

#[test]
fn any_other_key_is_shown_in_the_quotes_of_a_shell() {
    let table: [(&[u8], &str); 8] = [
        (b"", "$''"),
        (b"a\xff", r"$'a\xff'"),
        (b"line\nfeed\t\0", r"$'line\nfeed\t\x00'"),
        ("ü\u{1b}[31m".as_bytes(), r"$'ü\x1b[31m'"),
        ("left\u{202e}right".as_bytes(), r"$'left\xe2\x80\xaeright'"),
        (b"it's \\ \xfe", r"$'it\'s \\ \xfe'"),
        (b"$'x'", r"$'$\'x\''"),
        (b"\xc3", r"$'\xc3'"),
    ];
    for (bytes, text) in table {
        assert_eq!(Key::new(bytes).to_string(), text);
        assert_eq!(Key::of_text(text), Key::new(bytes), "{text}");
    }
}

#[test]
fn text_that_only_begins_like_the_quoted_form_is_the_key_itself() {
    for text in ["$'", "$'a", r"$'\q'", r"$'\x4'", "$'a'b'", r"$'a\'"] {
        assert_eq!(Key::of_text(text), Key::from(text), "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_shown_of_any_bytes_is_read_back(bytes: Vec<u8>) {
        let key = Key::new(bytes);
        prop_assert_eq!(Key::of_text(key.to_string()), key);
    }

    #[test]
    fn what_is_shown_of_any_text_is_read_back(text in r#"(\$')?[\PC'\\"\n\$\x1b]{0,20}'?"#) {
        let key = Key::new(text);
        prop_assert_eq!(Key::of_text(key.to_string()), key);
    }
}
