//! The lanes of one schedule: a table, so that it can be read aloud as well.

use maud::{Markup, html};

use super::super::{Cell, Lane, LaneBelief, Picture, TimelineRow, seconds};

/// One schedule, drawn.
pub(super) struct Figure<'a> {
    pub(super) id: &'a str,
    pub(super) picture: &'a Picture<'a>,
    /// The row of the first figure during which each row happens.
    pub(super) during: &'a [usize],
    /// The row in which nothing comes of what broke the rule.
    pub(super) refused: Option<usize>,
}

impl Figure<'_> {
    pub(super) fn html(&self) -> Markup {
        let trace = self.picture.trace;
        let style = format!("--lanes: {}; --keys: {}", trace.actors.len(), trace.keys.len());
        html! {
            table id=(self.id) role="table" style=(style) {
                thead role="rowgroup" { (self.head()) }
                tbody role="rowgroup" {
                    @for (moment, words) in &self.picture.before { (self.prior(moment, words)) }
                    @for place in 0..self.picture.rows.len() { (self.row(place)) }
                    @if let Some(verdict) = self.picture.verdict() { (self.verdict(&verdict)) }
                }
            }
        }
    }

    fn head(&self) -> Markup {
        let trace = self.picture.trace;
        html! {
            tr role="row" {
                th.no role="columnheader" scope="col" { "#" }
                th.t role="columnheader" scope="col" { "t" }
                @for key in &trace.keys { th.key role="columnheader" scope="col" { code { (key) } } }
                @for (who, role) in trace.actors.iter().enumerate() {
                    th.lane role="columnheader" scope="col" style=(lane_style(who)) {
                        b { (role.name) } " " span.protocol { (role.protocol) }
                        @if role.skew_ms != 0 { " " small { (clock(role.skew_ms)) } }
                    }
                }
            }
        }
    }

    /// What had happened before, across the lanes.
    fn prior(&self, moment: &str, words: &str) -> Markup {
        let lanes = self.picture.trace.actors.len();
        html! {
            tr.opening role="row" {
                td.no role="cell" {}
                td.t role="cell" { (moment) }
                @for _ in &self.picture.trace.keys { td.key role="cell" {} }
                td.words role="cell" colspan=(lanes) { (words) }
            }
        }
    }

    fn row(&self, place: usize) -> Markup {
        let (row, during) = (&self.picture.rows[place], self.during[place]);
        let is_refused = self.refused == Some(place);
        let number = row.steps.1 + 1;
        html! {
            tr role="row" id=(format!("{}-{number}", self.id)) data-during=(during + 1)
                .blamed[row.is_blamed] .refused[is_refused] .passing[row.aside.is_some()] {
                td.no role="cell" {
                    (number)
                    @if row.is_blamed { span.mark title="the step that broke the rule" { "▶" } }
                }
                td.t role="cell" { (seconds(row.at_ms)) }
                @for cell in &row.keys { (key(cell, self.longest_ttl_ms())) }
                @for (who, lane) in row.lanes.iter().enumerate() { (self.lane(row, who, lane, is_refused)) }
            }
        }
    }

    fn lane(&self, row: &TimelineRow, who: usize, lane: &Lane, is_refused: bool) -> Markup {
        let (class, says) = match lane.belief {
            LaneBelief::Outside => ("", ""),
            LaneBelief::Holds => ("holds", "believes to hold"),
            LaneBelief::Clashes => ("clashes", "believes to hold, and is not alone"),
        };
        let aside = row.aside.as_ref().filter(|_| who == 0);
        let acts = row.actor.map_or(aside.is_some(), |actor| actor == who);
        html! {
            td.lane.(class) role="cell" style=(lane_style(who)) {
                span.bar { @if !says.is_empty() { span.sr { (says) } } }
                @if !lane.is_silent() || aside.is_some() {
                    div.words {
                        @if let Some(aside) = aside { span.aside { (aside) } " " }
                        @if !lane.is_silent() { b.who { (self.picture.trace.actors[who].name) } " " }
                        @if let Some((command, reply)) = &lane.exchange { code { (command) } span.reply { " → " code { (reply) } } }
                        @if let Some(note) = &lane.note { span.note { (note) } }
                        @if row.is_blamed && acts { span.blame { "this step broke the rule" } }
                        @if is_refused && acts { span.refusal { "✓ changes nothing here" } }
                    }
                }
            }
        }
    }

    fn verdict(&self, verdict: &str) -> Markup {
        let columns = 2 + self.picture.trace.keys.len() + self.picture.trace.actors.len();
        html! { tr.violation role="row" data-during=(self.picture.rows.len()) { td role="cell" colspan=(columns) { "✗ " (verdict) } } }
    }

    fn longest_ttl_ms(&self) -> u64 {
        let cells = self.picture.rows.iter().flat_map(|row| &row.keys);
        cells.filter_map(|cell| cell.ttl_ms).max().unwrap_or(0).max(1)
    }
}

/// A key: its value, and how long it still lives as a bar.
fn key(cell: &Cell, longest_ttl_ms: u64) -> Markup {
    let share = cell.ttl_ms.map(|ttl_ms| ttl_ms.saturating_mul(100) / longest_ttl_ms);
    html! {
        td.key role="cell" .new[cell.is_new] {
            @match &cell.value { Some(value) => code { (value) }, None => span.none { "no key" } }
            @if let (Some(ttl_ms), Some(share)) = (cell.ttl_ms, share) {
                span.ttl style=(format!("--share: {share}%")) { "TTL " (seconds(ttl_ms)) }
            }
        }
    }
}

fn lane_style(who: usize) -> String {
    format!("--lane: {}", who + 1)
}

/// How far a clock is off.
fn clock(skew_ms: i64) -> String {
    format!("clock {} {}", seconds(skew_ms.unsigned_abs()), if skew_ms > 0 { "fast" } else { "slow" })
}
