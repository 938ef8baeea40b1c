//! `lockshift man`: the manual page, of the command or of one subcommand.

use std::io::{self, Write};

use clap::Command;
use clap_mangen::Man;

use super::exit::{Exit, Failure, unless_closed};
use super::global_options::GlobalOptions;

/// Print the manual page
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Of this subcommand
    command: Option<String>,
}

/// Prints it.
pub(super) fn run(args: &Args, whole: Command, global: &GlobalOptions) -> Result<Exit, Failure> {
    global.refuse_json("man", "a manual page")?;
    // `lockshift help` has no page of its own.
    let mut whole = whole.disable_help_subcommand(true);
    whole.build();
    let chosen = match &args.command {
        None => &whole,
        Some(name) => whole.find_subcommand(name).ok_or_else(|| {
            Failure::new(Exit::Usage, format_args!("there is no command `{name}`: `lockshift --help` lists them"))
        })?,
    };
    let mut page = Vec::new();
    render(chosen, &whole, &mut page).expect("a Vec takes everything");
    unless_closed(io::stdout().write_all(&page))?;
    Ok(Exit::Yes)
}

fn render(chosen: &Command, whole: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(chosen.clone());
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if chosen.has_subcommands() {
        man.render_subcommands_section(page)?;
    }
    let own = sections(chosen);
    let common = sections(whole);
    // What holds for every command is on every page, unless the command says it in more detail.
    let missing =
        common.iter().filter(|(title, _)| *title != "EXAMPLES" && own.iter().all(|(other, _)| other != title));
    for (title, text) in own.iter().chain(missing) {
        writeln!(page, ".SH \"{title}\"\n.nf\n{}.fi", escaped(text))?;
    }
    man.render_version_section(page)
}

/// How a title begins behind the options of a help text: bold and underlined.
const TITLE: &str = "\x1b[1;4m";

/// What stands behind the options in the help: each title, in capitals, with its text.
fn sections(command: &Command) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    let text = command.get_after_help().map(|text| text.ansi().to_string()).unwrap_or_default();
    for line in text.lines() {
        match (line.strip_prefix(TITLE), sections.last_mut()) {
            (Some(title), _) => {
                let title = title.trim_end_matches("\x1b[0m").trim_end_matches(':').to_uppercase();
                sections.push((title, String::new()));
            }
            (None, Some((_, text))) => *text += &format!("{}\n", line.strip_prefix("  ").unwrap_or(line)),
            (None, None) => {}
        }
    }
    sections.into_iter().map(|(title, text)| (title, format!("{}\n", text.trim_end()))).collect()
}

/// The text as roff shows it unchanged.
fn escaped(text: &str) -> String {
    text.lines()
        .map(|line| {
            let line = line.replace('\\', "\\e").replace('-', "\\-");
            let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
            format!("{guard}{line}\n")
        })
        .collect()
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift man | man -l -
  lockshift man run > lockshift-run.1";
