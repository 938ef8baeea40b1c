// Stepping through the schedule. Everything is on the page already: what is to come is made pale.
"use strict";
(() => {
    const nav = document.getElementById("steps");
    const output = nav.querySelector("output");
    const last = Number(nav.dataset.rows);
    const rows = [...document.querySelectorAll("tr[data-during]")];
    let at = null; // the row of the first figure that happens now; null: all of them are shown

    const says = (row) => [...row.cells].map((cell) => cell.innerText.trim()).filter(Boolean).join(", ");

    function show(next) {
        at = next;
        for (const row of rows) {
            const during = Number(row.dataset.during);
            row.classList.toggle("later", at !== null && during > at);
            row.classList.toggle("now", during === at);
            row.toggleAttribute("aria-current", during === at);
        }
        const now = document.querySelector("#found .now");
        output.textContent = now ? `${at} of ${last}` : "";
        output.setAttribute("aria-label", now ? `Row ${at} of ${last}: ${says(now)}` : "");
        now?.scrollIntoView({ block: "nearest" });
    }

    const go = {
        first: () => 1,
        back: () => Math.max(1, (at ?? last + 1) - 1),
        on: () => Math.min(last, (at ?? 0) + 1),
        violation: () => last,
        all: () => null,
    };
    const keys = { Home: "first", ArrowLeft: "back", ArrowRight: "on", End: "violation", v: "violation", Escape: "all" };

    nav.addEventListener("click", (event) => {
        const button = event.target.closest("[data-go]");
        if (button) show(go[button.dataset.go]());
    });
    document.addEventListener("keydown", (event) => {
        const where = keys[event.key];
        if (!where || event.ctrlKey || event.altKey || event.metaKey) return;
        event.preventDefault();
        show(go[where]());
    });
    nav.hidden = false;
})();
