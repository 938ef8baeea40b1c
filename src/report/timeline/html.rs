//! A schedule as one HTML page that needs nothing else: swim lanes, every key a lane with its value and TTL, bars where
//! a client believes that it holds. It is whole without JavaScript; with it, one steps through.

mod figure;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Picture;
use crate::explore::{Followed, Trace};
use crate::report::explanation;
use figure::Figure;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
/// Nothing is fetched from anywhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'";

/// What a page shows.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Page<'a> {
    /// Its title.
    pub(in crate::report) title: &'a str,
    /// What happens, in a few sentences.
    pub(in crate::report) story: &'a str,
    /// What is known of it beside: `States`, `12,345`.
    pub(in crate::report) facts: &'a [(&'static str, String)],
    /// The schedule.
    pub(in crate::report) trace: &'a Trace,
    /// The same schedule with what prevents it.
    pub(in crate::report) prevented: Option<Prevented<'a>>,
}

/// The same schedule with what prevents it.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Prevented<'a> {
    /// What it is called.
    pub(in crate::report) remedy: &'a str,
    /// Why it helps.
    pub(in crate::report) because: &'a str,
    /// How many states of it were explored, none of which breaks the rule.
    pub(in crate::report) states: &'a str,
    /// How the schedule goes.
    pub(in crate::report) followed: &'a Followed,
}

impl Page<'_> {
    /// The page.
    pub(in crate::report) fn html(&self) -> String {
        let picture = Picture::of(self.trace);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · lockshift" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    (self.head(&picture))
                    (steps(&picture))
                    (self.drawing(&picture))
                    (LEGEND)
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        page.into_string()
    }

    fn head(&self, picture: &Picture<'_>) -> Markup {
        let explanation = explanation(self.trace);
        html! {
            header {
                h1 { (self.title) }
                @if !self.story.is_empty() { p.story { (self.story) } }
                @if let Some(verdict) = picture.verdict() { p.verdict.bad { "✗ " (verdict) } }
                @if !explanation.is_empty() { p.says { (explanation) } }
                dl { @for (name, fact) in self.facts { div { dt { (name) } dd { (fact) } } } }
            }
        }
    }

    fn drawing(&self, picture: &Picture<'_>) -> Markup {
        let during: Vec<usize> = (0..picture.rows.len()).collect();
        let crowded = self.trace.actors.len() + self.trace.keys.len() > 4;
        html! {
            main.beside[!crowded] {
                section {
                    h2 { "As found" }
                    (Figure { id: "found", picture, during: &during, refused: None }.html())
                }
                @if let Some(prevented) = &self.prevented { (prevented.html(picture)) }
            }
        }
    }
}

impl Prevented<'_> {
    fn html(&self, found: &Picture<'_>) -> Markup {
        let picture = Picture::of(&self.followed.trace);
        let during = |row: &super::TimelineRow| found.row_of(self.followed.during[row.steps.1]);
        let during: Vec<usize> = picture.rows.iter().map(during).collect();
        html! {
            section {
                h2 { "The same schedule under " (self.remedy) }
                (Figure { id: "prevented", picture: &picture, during: &during, refused: refused(found, &picture, &during) }.html())
                p.verdict.good { "✓ kept: " (found.trace.property) ", here and in all " (self.states) " states within the same bounds" }
                p.because { "Because " (self.because) "." }
            }
        }
    }
}

/// The row in which the client that broke the rule does the same, and changes nothing.
fn refused(found: &Picture<'_>, picture: &Picture<'_>, during: &[usize]) -> Option<usize> {
    let blamed = found.rows.iter().position(|row| row.is_blamed)?;
    let actor = found.rows[blamed].actor?;
    let like = |row: &usize| during[*row] >= blamed && picture.rows[*row].actor == Some(actor);
    (0..picture.rows.len()).find(like).filter(|row| !picture.rows[*row].keys.iter().any(|key| key.is_new))
}

/// The buttons; shown by the script, which alone makes them work.
fn steps(picture: &Picture<'_>) -> Markup {
    html! {
        nav #steps hidden aria-label="Steps" data-rows=(picture.rows.len()) {
            button type="button" data-go="first" title="Home" { "Start" }
            button type="button" data-go="back" title="Left arrow" { "◀ Back" }
            button type="button" data-go="on" title="Right arrow" { "Next ▶" }
            button.jump type="button" data-go="violation" title="V" { "✗ Jump to the violation" }
            button type="button" data-go="all" title="Escape" { "Show all" }
            output aria-live="polite" {}
        }
    }
}

const LEGEND: PreEscaped<&str> = PreEscaped(
    "<footer><p><span class=\"key holds\"></span> believes to hold \
     <span class=\"key clashes\"></span> so does another, of the same lock \
     <span class=\"mark\">▶</span> the step that broke the rule</p></footer>",
);
