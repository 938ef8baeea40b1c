//! The page that leads to the pages of several races.

use maud::{DOCTYPE, PreEscaped, html};

use crate::races::RaceResult;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
    table{border-collapse:collapse}th,td{text-align:left;padding:.25rem 1rem .25rem 0;vertical-align:top;overflow-wrap:anywhere}";
/// Nothing is fetched from anywhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'";

/// A page with one row for each of these races, in their order; a race's name leads to its page, `ID.html` beside this one.
pub fn races_index(results: &[RaceResult]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { "Races of Redis locks · lockshift" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Races of Redis locks" }
                table {
                    tr { th { "Race" } th { "Protocol" } th { "Breaks" } th { "Steps" } }
                    @for result in results {
                        tr {
                            @match &result.found {
                                Some(found) => {
                                    td { a href={ (result.race.id) ".html" } { (result.race.title) } }
                                    td { (result.race.protocol()) }
                                    td { (result.race.violates) }
                                    td { (found.trace.steps.len()) }
                                }
                                None => {
                                    td { (result.race.title) }
                                    td { (result.race.protocol()) }
                                    td { (result.race.violates) }
                                    td { "not reproduced" }
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}
