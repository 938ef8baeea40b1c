//! The paths that a file mentions: `crate::driver::Guard`, in `use` lines, in expressions and inside macros.
//!
//! The file is taken apart into tokens, so that comments and strings are left out; what is only there for tests
//! (`#[cfg(test)]`) is left out.

use std::iter::Peekable;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path in code, and whether it is only handed on (`pub use`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) segments: Vec<String>,
    pub(super) handed_on: bool,
}

type Tokens = Peekable<proc_macro2::token_stream::IntoIter>;

/// All paths of at least two segments in this code.
pub(super) fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    collect(text.parse().expect("the compiler has read it already"), &mut found);
    found
}

fn collect(stream: TokenStream, found: &mut Vec<Mention>) {
    let mut tokens = stream.into_iter().peekable();
    let mut public = false;
    let mut handed_on = false;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(hash) if hash.as_char() == '#' => {
                if tokens.next_if(|next| next.to_string().replace(' ', "") == "[cfg(test)]").is_some() {
                    skip_item(&mut tokens);
                }
            }
            TokenTree::Punct(end) if end.as_char() == ';' => (public, handed_on) = (false, false),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            TokenTree::Group(group) => {
                // `pub(crate)` is still public enough to hand on.
                public &= group.delimiter() == Delimiter::Parenthesis;
                collect(group.stream(), found);
            }
            TokenTree::Ident(word) if word == "pub" => public = true,
            TokenTree::Ident(word) if word == "use" => handed_on = public,
            TokenTree::Ident(word) => {
                public = false;
                branches(vec![word.to_string()], &mut tokens, handed_on, found);
            }
        }
    }
}

/// The paths that begin with `start`: one, or one for each name in braces.
fn branches(start: Vec<String>, tokens: &mut Tokens, handed_on: bool, found: &mut Vec<Mention>) {
    let mut segments = start;
    while is_double_colon(tokens) {
        match tokens.next() {
            Some(TokenTree::Ident(word)) => segments.push(word.to_string()),
            Some(TokenTree::Group(names)) if names.delimiter() == Delimiter::Brace => {
                let mut names = names.stream().into_iter().peekable();
                while let Some(token) = names.next() {
                    if let TokenTree::Ident(word) = token {
                        branches([segments.clone(), vec![word.to_string()]].concat(), &mut names, handed_on, found);
                        // What is left up to the comma is another name for it: `as Renamed`.
                        while names.next_if(|next| next.to_string() != ",").is_some() {}
                    }
                }
                return;
            }
            Some(TokenTree::Group(other)) => collect(other.stream(), found),
            // `path::*`, or the generics of `path::<T>`, which come by themselves.
            Some(TokenTree::Punct(_) | TokenTree::Literal(_)) | None => break,
        }
    }
    if segments.len() > 1 {
        found.push(Mention { segments, handed_on });
    }
}

fn is_double_colon(tokens: &mut Tokens) -> bool {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':');
    let mut ahead = tokens.clone();
    let both =
        ahead.next().is_some_and(|first| is_colon(&first)) && ahead.next().is_some_and(|second| is_colon(&second));
    if both {
        *tokens = ahead;
    }
    both
}

/// Passes over the item that an attribute stands before: up to its body or its semicolon.
fn skip_item(tokens: &mut Tokens) {
    for token in tokens {
        match token {
            TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => return,
            TokenTree::Punct(end) if end.as_char() == ';' => return,
            _ => {}
        }
    }
}

#[test]
fn paths_are_found_wherever_they_stand() {
    let text = r#"
        //! See crate::comment.
        pub(crate) use crate::given::Away;
        use crate::{one::Item, two::{self, Other as Renamed}};
        use super::sibling::*;
        #[cfg(test)]
        mod tests { use crate::only_tests::Thing; }
        fn body() { let _ = format!("crate::string {}", crate::three::call::<four::Type>()); }
    "#;
    let found: Vec<_> = mentions(text).into_iter().map(|path| (path.segments.join("::"), path.handed_on)).collect();
    let expected = [
        ("crate::given::Away", true),
        ("crate::one::Item", false),
        ("crate::two::self", false),
        ("crate::two::Other", false),
        ("super::sibling", false),
        ("crate::three::call", false),
        ("four::Type", false),
    ];
    assert_eq!(found, expected.map(|(path, handed_on)| (path.to_owned(), handed_on)));
}
