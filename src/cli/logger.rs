//! What is logged on standard error: what the environment names, or else the warnings of the guard.

use std::io;

use env_logger::{Builder, Env, Target, WriteStyle};

use super::line_printer::LinePrinter;

/// Logs at once: the program waits until that is read.
pub(super) fn log_at_once() {
    builder().init();
}

/// Logs by the thread of this printer.
pub(super) fn log_by(printer: &LinePrinter) {
    let mut builder = builder();
    // The environment comes first. Otherwise standard error decides whether there are colours.
    if !std::env::var("RUST_LOG_STYLE").is_ok_and(|style| style == "always" || style == "never") {
        let is_plain = anstream::AutoStream::choice(&io::stderr()) == anstream::ColorChoice::Never;
        builder.write_style(if is_plain { WriteStyle::Never } else { WriteStyle::Always });
    }
    builder.target(Target::Pipe(Box::new(printer.clone()))).init();
}

fn builder() -> Builder {
    Builder::from_env(Env::default().default_filter_or("off,lockshift::guard=warn"))
}
