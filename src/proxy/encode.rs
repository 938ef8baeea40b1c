//! Commands and replies as bytes.

use crate::wire::{Command, Reply};

pub(super) fn encode_command(command: &Command, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", command.words().len()).as_bytes());
    for word in command.words() {
        encode_bulk(word, out);
    }
}

fn encode_bulk(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("${}\r\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

pub(super) fn encode_reply(reply: &Reply, is_resp3: bool, out: &mut Vec<u8>) {
    match reply {
        Reply::Nil if is_resp3 => out.extend_from_slice(b"_\r\n"),
        Reply::Nil => out.extend_from_slice(b"$-1\r\n"),
        Reply::Int(number) => out.extend_from_slice(format!(":{number}\r\n").as_bytes()),
        Reply::Status(text) => out.extend_from_slice(format!("+{text}\r\n").as_bytes()),
        Reply::Error(text) => out.extend_from_slice(format!("-{text}\r\n").as_bytes()),
        Reply::Bulk(bytes) => encode_bulk(bytes, out),
        Reply::Array(items) => {
            out.extend_from_slice(format!("*{}\r\n", items.len()).as_bytes());
            items.iter().for_each(|item| encode_reply(item, is_resp3, out));
        }
    }
}
