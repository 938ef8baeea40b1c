//! Replies as bytes.

use std::fmt::Display;
use std::io::Write;

use crate::wire::Reply;

fn encode_bulk(bytes: &[u8], out: &mut Vec<u8>) {
    encode_number(b'$', bytes.len(), out);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// A line of this kind with a number.
fn encode_number(kind: u8, number: impl Display, out: &mut Vec<u8>) {
    out.push(kind);
    write!(out, "{number}\r\n").expect("a vector takes all");
}

pub(super) fn encode_reply(reply: &Reply, is_resp3: bool, out: &mut Vec<u8>) {
    match reply {
        Reply::Nil if is_resp3 => out.extend_from_slice(b"_\r\n"),
        Reply::Nil => out.extend_from_slice(b"$-1\r\n"),
        Reply::Int(number) => encode_number(b':', number, out),
        Reply::Status(text) => out.extend_from_slice(format!("+{text}\r\n").as_bytes()),
        Reply::Error(text) => out.extend_from_slice(format!("-{text}\r\n").as_bytes()),
        Reply::Bulk(bytes) => encode_bulk(bytes, out),
        Reply::Array(items) => {
            encode_number(b'*', items.len(), out);
            items.iter().for_each(|item| encode_reply(item, is_resp3, out));
        }
    }
}
