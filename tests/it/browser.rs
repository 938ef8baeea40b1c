//! A race's page in a real browser, without a window: what a visitor sees and can do.

mod chromium;
mod page;

use chromium::{Chromium, Look};
use page::{page_of, page_of_clients};
use serde_json::{Value, json};

/// As page.css has them, in the light.
const RED: [u8; 3] = [0xcf, 0x22, 0x2e];
const GREEN: [u8; 3] = [0x1a, 0x7f, 0x37];
/// The same in the dark, and the ground there.
const DARK_RED: [u8; 3] = [0xf8, 0x51, 0x49];
const DARK_GROUND: [u8; 3] = [0x0d, 0x11, 0x17];

/// What a visitor's script finds of rows: the numbers of those lit, and how many are pale.
const STATE: &str = "
    const numbers = (rows) => [...rows].map((row) => row.id || row.className.split(' ')[0]);
    const state = () => ({
        now: numbers(document.querySelectorAll('tr.now')),
        pale: document.querySelectorAll('#found tr.later').length,
        text: document.querySelector('output').textContent,
    });
    const press = (key) => document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    const click = (name) => document.querySelector(`[data-go=${name}]`).click();
";

#[test]
fn there_is_a_lane_for_every_client_and_one_for_the_key() {
    let seen = Chromium::start().visit(
        &page_of("double-takeover"),
        "
        const text = (all) => [...document.querySelectorAll(all)].map((one) => one.innerText.replace(/\\s+/g, ' ').trim());
        return {
            lanes: text('#found thead th.lane'),
            key: text('#found thead th.key'),
            values: text('#found td.key'),
            blamed: text('#found tr.blamed td.lane .words'),
            violation: text('#found tr.violation'),
            clashing: [...document.querySelectorAll('#found td.clashes')].map((cell) => cell.parentElement.id),
            aloud: text('#found td.clashes .sr'),
            titles: text('h1, h2'),
            refused: text('#prevented tr.refused .words'),
            prevented: text('#prevented thead th.lane'),
        };",
    );
    assert_eq!(seen["lanes"], json!(["A setnx-page-del", "B setnx-page-del", "C setnx-page-del"]));
    assert_eq!(seen["key"], json!(["lock"]));
    assert_eq!(seen["values"][1], "1699999994", "what the dead owner left: {seen:#}");
    assert_eq!(seen["blamed"], json!(["DEL → 1 this step broke the rule"]));
    assert_eq!(seen["violation"], json!(["✗ broken: mutual exclusion (A and B both hold)"]));
    assert_eq!(seen["clashing"], json!(["found-8", "found-8"]), "both lanes of the last step");
    assert_eq!(seen["aloud"], json!(["believes to hold, and is not alone", "believes to hold, and is not alone"]));
    assert_eq!(
        seen["titles"],
        json!(["Two clients each delete the other's lock", "As found", "The same schedule under token"])
    );
    assert_eq!(seen["prevented"], json!(["A token", "B token", "C token"]));
    let refused = seen["refused"][0].as_str().unwrap_or_else(|| panic!("{seen:#}"));
    assert!(refused.contains("→ nil does not acquire: the lock is held ✓ changes nothing here"), "{refused}");
}

#[test]
fn one_steps_through_it_by_keys_and_by_buttons() {
    let script = format!(
        "{STATE}
        const seen = {{ before: state() }};
        press('ArrowRight'); seen.first = state();
        press('ArrowRight'); seen.second = state();
        click('back'); seen.back = state();
        press('ArrowLeft'); seen.stays = state();
        press('v'); seen.violation = state();
        press('ArrowRight'); seen.end = state();
        press('Home'); seen.home = state();
        click('violation'); seen.jump = state();
        press('Escape'); seen.all = state();
        seen.nav = !document.getElementById('steps').hidden;
        return seen;"
    );
    let seen = Chromium::start().visit(&page_of("late-unlock"), &script);
    let at = |now: Value, pale: u32, text: &str| json!({"now": now, "pale": pale, "text": text});
    let everything = at(json!([]), 0, "");
    let first = at(json!(["found-1", "prevented-1"]), 5, "1 of 5");
    let last = at(json!(["found-5", "violation", "prevented-5"]), 0, "5 of 5");
    assert_eq!(seen["nav"], true);
    assert_eq!(seen["before"], everything, "the whole picture, before anything is pressed");
    assert_eq!(seen["first"], first);
    assert_eq!(seen["second"], at(json!(["found-2", "prevented-2"]), 4, "2 of 5"));
    for place in ["back", "stays", "home"] {
        assert_eq!(seen[place], first, "{place}");
    }
    for place in ["violation", "end", "jump"] {
        assert_eq!(seen[place], last, "{place}");
    }
    assert_eq!(seen["all"], everything);
}

#[test]
fn what_was_explored_has_a_page_too() {
    let script = format!(
        "{STATE}
        const text = (all) => [...document.querySelectorAll(all)].map((one) => one.innerText.replace(/\\s+/g, ' ').trim());
        const seen = {{ lanes: text('#found thead th.lane'), titles: text('h1, h2'), violation: text('#found tr.violation') }};
        press('v'); seen.jump = state();
        return seen;"
    );
    let page = page_of_clients(&["php-getset", "php-getset", "token"]);
    let seen = Chromium::start().visit(&page, &script);
    assert_eq!(seen["lanes"], json!(["A php-getset", "B php-getset", "C token"]));
    assert_eq!(seen["titles"], json!(["Mutual exclusion is broken", "As found"]), "nothing beside it");
    assert_eq!(seen["violation"], json!(["✗ broken: mutual exclusion (A and C both hold)"]));
    let last = json!({"now": ["found-5", "violation"], "pale": 0, "text": "5 of 5"});
    assert_eq!(seen["jump"], last, "{seen:#}");
}

#[test]
fn the_overlap_is_red_at_every_width_by_day_and_by_night() {
    let chromium = Chromium::start();
    let page = page_of("stale-stamp-shortens-lease");
    for (width, height) in [(1200, 1200), (400, 2200)] {
        let look = Look { width, height, ..Look::default() };
        let picture = chromium.picture(&page, look);
        assert_eq!((picture.width, picture.height), (width, height));
        assert!(picture.count([255; 3]) > picture.pixels() / 2, "a white page");
        assert_eq!(picture.bars(RED), 2, "A and B both hold, at {width}");
        // Where the figures stand below each other, so do their bars.
        let lanes_of_holders = if width > 700 { 2 } else { 1 };
        assert_eq!(picture.bars(GREEN), lanes_of_holders, "B holds, there and under the remedy, at {width}");

        let night = chromium.picture(&page, Look { is_dark: true, ..look });
        assert!(night.count(DARK_GROUND) > night.pixels() / 2, "a dark page");
        assert_eq!(night.bars(DARK_RED), 2, "A and B both hold, by night at {width}");
    }
}

#[test]
fn it_is_whole_without_javascript() {
    let page = serde_json::to_string(&page_of("late-unlock")).unwrap().replace("</", "<\\/");
    let script = format!(
        "const frame = document.createElement('iframe');
        frame.sandbox = 'allow-same-origin';
        frame.style.cssText = 'width: 1200px; height: 900px';
        const loaded = new Promise((done) => frame.addEventListener('load', done));
        frame.srcdoc = {page};
        document.body.append(frame);
        await loaded;
        const inside = frame.contentDocument;
        const is_seen = (one) => one.getClientRects().length > 0 && getComputedStyle(one).opacity === '1';
        return {{
            buttons: [...inside.querySelectorAll('button')].filter(is_seen).length,
            rows: [...inside.querySelectorAll('#found tbody tr')].filter(is_seen).length,
            violation: is_seen(inside.querySelector('#found tr.violation')),
            bar: getComputedStyle(inside.querySelector('#found td.holds .bar')).backgroundColor,
        }};"
    );
    let seen = Chromium::start().visit("<!doctype html><body></body>", &script);
    let whole = json!({"buttons": 0, "rows": 6, "violation": true, "bar": "rgb(26, 127, 55)"});
    assert_eq!(seen, whole, "no button that would do nothing, and the whole picture");
}

#[test]
fn every_page_fits_a_desk_and_a_hand_and_fetches_nothing() {
    let pages = page::all();
    assert!(pages.len() > 40, "{}", pages.len());
    let frames: Vec<Value> = pages.iter().map(|(id, html)| json!({"id": id, "html": html})).collect();
    let script = format!(
        "const pages = {};
        const problems = [];
        for (const width of [1200, 400]) for (const page of pages) {{
            const frame = document.createElement('iframe');
            frame.style.cssText = `width: ${{width}}px; height: 900px; border: 0`;
            const loaded = new Promise((done) => frame.addEventListener('load', done));
            frame.srcdoc = page.html;
            document.body.append(frame);
            await loaded;
            const inside = frame.contentDocument;
            const problem = (what) => problems.push(`${{page.id}} at ${{width}}: ${{what}}`);
            const over = (all) => [...inside.querySelectorAll(all)].filter((one) => one.scrollWidth > one.clientWidth + 1);
            if (over('html').length) problem(`${{inside.documentElement.scrollWidth}} wide`);
            for (const cell of over('#found td:not(.lane), #prevented td:not(.lane), .words')) problem(`cut: ${{cell.innerText}}`);
            const isIndex = page.id === 'index';
            if (!isIndex && !inside.querySelector('#found tr.violation')?.getClientRects().length) problem('no violation');
            if (!isIndex && !inside.querySelector('#found tr.blamed')) problem('no blame');
            const links = [...inside.querySelectorAll('[src], [href]')].filter((one) => !(isIndex && one.matches('a')));
            if (links.length) problem('fetches something');
            if (frame.contentWindow.performance.getEntriesByType('resource').length) problem('has fetched something');
            frame.remove();
        }}
        return {{ problems }};",
        serde_json::to_string(&frames).unwrap().replace("</", "<\\/")
    );
    let seen = Chromium::start().visit("<!doctype html><title>frames</title><body></body>", &script);
    assert_eq!(seen["problems"], json!([]), "{seen:#}");
}
