// Draws every figure, again where the system turns dark, the window changes or the page is printed.
const charts = [];
for (const data of JSON.parse(holder.textContent)) {
  try {
    charts.push(new Chart(data));
    charts[charts.length - 1].root.classList.add("drawn");
    const numbers = document.querySelector(`#chart-${data.id} > details.numbers`);
    if (numbers) numbers.open = false;
  } catch (error) {
    // Words and table stay open; whoever looks finds out why.
    console.error(`chart ${data.id}`, error);
  }
}
const again = () => charts.forEach((c) => c.draw());
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
// On paper the page is light, and no wider than the sheet.
window.addEventListener("beforeprint", () => charts.forEach((c) => { c.root.classList.add("printing"); c.draw(Math.min(c.wide, PRINTED)); }));
window.addEventListener("afterprint", () => charts.forEach((c) => { c.root.classList.remove("printing"); c.draw(); }));
const watcher = new ResizeObserver(() => charts.forEach((c) => c.resize()));
charts.forEach((c) => watcher.observe(c.picture));
