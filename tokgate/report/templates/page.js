// What the page can do beyond being read: copy a line, sort verdicts, count what a choice leaves, unfold the answer for paper.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");
  const said = document.getElementById("said");
  const say = (text) => { said.textContent = ""; said.textContent = text; };

  // --- lines to paste -------------------------------------------------------------------------
  const select = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };
  // A page from a file may have no clipboard, or no permission for it: then the line is selected and copied as by hand.
  const copied = async (pre) => {
    try {
      await navigator.clipboard.writeText(pre.textContent);
      return true;
    } catch {
      select(pre);
      try { return document.execCommand("copy"); } catch { return false; }
    }
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.(".copy");
    if (!button) return;
    const pre = button.parentElement.querySelector("pre");
    const done = await copied(pre);
    if (!done) select(pre);
    say(done ? "copied" : "selected: copy it with Ctrl+C");
    const label = button.firstChild;
    label.data = done ? "Copied" : "Selected";
    setTimeout(() => { label.data = "Copy"; }, 2000);
  });

  // --- verdicts -------------------------------------------------------------------------------
  const verdicts = document.getElementById("verdicts");
  const tables = [...verdicts.querySelectorAll("table.verdicts")];
  const asGiven = new Map(tables.map((table) => [table, [...table.tBodies]]));
  const numeric = (text) => {
    const found = /-?\d+(?:\.\d+)?(?:e[-+]?\d+)?/.exec(text.replace("\u2212", "-"));
    return found ? Number(found[0]) : null;
  };
  const keyOf = (body, column, isNumber) => {
    const text = body.rows[0].cells[column].textContent.trim();
    return isNumber ? numeric(text) : text.toLowerCase();
  };
  const compare = (a, b) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1);
  const order = (table, column, direction, isNumber) => {
    const bodies = [...asGiven.get(table)];
    if (direction) {
      const keys = new Map(bodies.map((body) => [body, keyOf(body, column, isNumber)]));
      bodies.sort((a, b) => {
        const [x, y] = [keys.get(a), keys.get(b)];
        // What is not known comes last, whichever way round.
        return x === null || y === null ? compare(x, y) : compare(x, y) * direction;
      });
    }
    table.append(...bodies);
  };
  // Every table of verdicts sorts by the same column: first up, then down, then worst first again.
  const sortBy = (column) => {
    const now = tables[0].tHead.rows[0].cells[column].getAttribute("aria-sort");
    const direction = now === "ascending" ? -1 : now === "descending" ? 0 : 1;
    for (const table of tables) {
      const heads = [...table.tHead.rows[0].cells];
      heads.forEach((th) => th.removeAttribute("aria-sort"));
      if (direction) heads[column].setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      order(table, column, direction, heads[column].classList.contains("num"));
    }
    const name = tables[0].tHead.rows[0].cells[column].textContent.trim();
    say(direction ? `sorted by ${name}, ${direction > 0 ? "ascending" : "descending"}` : "sorted worst first");
  };
  for (const table of tables) {
    [...table.tHead.rows[0].cells].forEach((th, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = th.textContent;
      button.addEventListener("click", () => sortBy(column));
      th.replaceChildren(button);
    });
  }
  // The choice itself is made by style; this only counts it, and opens what it leaves.
  const all = [...verdicts.querySelectorAll("tbody.v")];
  const tally = verdicts.querySelector(".tally");
  const selects = [...verdicts.querySelectorAll("select")];
  const count = () => {
    const chosen = selects.map((s) => s.value).filter(Boolean);
    const left = all.filter((body) => chosen.every((css) => body.classList.contains(css)));
    for (const group of verdicts.querySelectorAll("details.group")) {
      const has = left.some((body) => group.contains(body));
      group.hidden = !has;
      group.open = chosen.length > 0 && has;
    }
    tally.textContent = `${left.length} of ${tally.dataset.all}`;
    return left.length;
  };
  if (tally) {
    count();
    for (const one of selects) one.addEventListener("change", () => say(`${count()} of ${tally.dataset.all} verdicts shown`));
  }

  // --- the bar's height, below which table heads stay; paper -----------------------------------
  const bar = document.querySelector("header.bar");
  const measure = () => {
    const height = bar.getBoundingClientRect().height;
    root.style.setProperty("--bar", `${height}px`);
    root.style.scrollPaddingTop = `${height + 12}px`;
  };
  measure();
  window.addEventListener("resize", measure);
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("#tokgate .answer details:not([open])")];
    folded.forEach((one) => { one.open = true; });
  });
  window.addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));
})();
