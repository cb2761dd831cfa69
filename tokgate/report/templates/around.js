// pytest-html's table is made for a mouse: its rows and heads get buttons that keep the keyboard where it was.
(() => {
  "use strict";
  const tests = document.getElementById("tests");
  const rowOf = (button) => button.closest("tr.collapsible");
  const mend = () => {
    // Its class names say the opposite of what they mean.
    for (const th of tests.querySelectorAll("th.sortable")) {
      const way = th.classList.contains("desc") ? "ascending" : th.classList.contains("asc") ? "descending" : null;
      if (way) th.setAttribute("aria-sort", way);
      else th.removeAttribute("aria-sort");
    }
    for (const button of tests.querySelectorAll("button.log-toggle")) {
      const more = rowOf(button).nextElementSibling;
      button.setAttribute("aria-expanded", String(Boolean(more) && !more.classList.contains("hidden")));
    }
  };
  // A click inside a cell would be lost: the cell itself is what pytest-html listens to.
  tests.addEventListener("click", (event) => {
    const button = event.target.closest("button.log-toggle");
    if (!button) return;
    event.stopPropagation();
    const { id } = rowOf(button).dataset;
    rowOf(button).querySelector(".col-result").click();
    mend();
    tests.querySelector(`tr[data-id="${CSS.escape(id)}"] button.log-toggle`)?.focus();
  }, true);
  tests.addEventListener("click", (event) => {
    mend();
    const column = event.target.dataset.columnType;
    if (column) tests.querySelector(`th button[data-column-type="${CSS.escape(column)}"]`)?.focus();
  });
  mend();
})();
