// What is pointed at, by mouse, finger or keyboard: which value is meant, its words, and where they stand.
const NEAR = 48; // CSS pixels beside a value within which it answers to the pointer
const STEEP = 0.4; // what a pixel above or below counts for: a sparse picture answers everywhere

class Pointer {
  constructor(panel) {
    this.panel = panel;
    this.tip = node("div", "tip");
    this.spot = node("div", "spot");
    this.tip.hidden = this.spot.hidden = true;
    panel.plot.over.append(this.spot);
    panel.root.append(this.tip);
    this.listen();
  }

  listen() {
    const over = this.panel.plot.over;
    const point = (event) => {
      const box = over.getBoundingClientRect();
      this.show(this.nearest(event.clientX - box.left, event.clientY - box.top));
    };
    over.addEventListener("pointermove", point);
    over.addEventListener("pointerdown", point);
    over.addEventListener("pointerleave", () => this.hide());
    this.panel.root.addEventListener("blur", () => this.hide());
    this.panel.root.addEventListener("keydown", (event) => this.key(event));
  }

  at(trace, i) {
    const y = trace.base ? (trace.base[i] + trace.ys[i]) / 2 : trace.ys[i];
    return [this.panel.plot.valToPos(trace.xs[i], "x"), this.panel.plot.valToPos(y, "y")];
  }

  seen(trace, i) {
    const scale = this.panel.plot.scales.x;
    return finite(trace.ys[i]) && trace.xs[i] >= scale.min && trace.xs[i] <= scale.max;
  }

  nearest(x, y) {
    let best = null;
    for (const trace of this.panel.traces) {
      const line = trace.draw === "line" || trace.draw === "steps";
      let mine = null;
      for (let i = 0; i < trace.xs.length; i += 1) {
        if (!this.seen(trace, i)) continue;
        const [px, py] = this.at(trace, i);
        let dy = Math.abs(py - y);
        if (trace.base) {
          const half = Math.abs(this.panel.plot.valToPos(trace.base[i], "y") - this.panel.plot.valToPos(trace.ys[i], "y")) / 2;
          dy = Math.max(0, dy - half);
        }
        const dx = Math.abs(px - x);
        const far = Math.hypot(dx, dy * STEEP);
        const rank = line ? dx : far;
        if (!mine || rank < mine.rank) mine = { rank, far, dx, trace, i };
      }
      if (mine && (!best || mine.far < best.far)) best = mine;
    }
    return best && best.dx <= NEAR ? best : null;
  }

  words(trace, i) {
    const { x, y } = this.panel.spec;
    const lines = [];
    if (trace.low && finite(trace.low[i])) lines.push(`interval ${format(trace.low[i], y)} … ${format(trace.high[i], y)}`);
    if (trace.number) lines.push(`${trace.number} ${trace.numbers ? trace.numbers[i] : i}`);
    else if (!x.ticks) lines.push(`${x.label}: ${format(trace.xs[i], x)}`);
    else {
      const tick = x.ticks.find((t) => t.at === trace.xs[i]);
      if (tick && !trace.facts && !trace.places) lines.push(`${x.label}: ${tick.label.replace("\n", ", ")}`);
      else if (tick && x.label === "streams at once") lines.push(`${x.label}: ${tick.label}`);
    }
    for (const [name, told] of Object.entries(trace.facts || {})) lines.push(`${name}: ${told[i]}`);
    const place = trace.places && trace.places[i];
    if (place !== undefined) for (const [name, told] of Object.entries(this.panel.chart.data.facts)) lines.push(`${name}: ${told[place]}`);
    const within = (this.panel.spec.bands || []).filter((b) => b.way === "x" && b.label && trace.xs[i] >= b.low && trace.xs[i] <= b.high);
    for (const band of within.slice(0, 4)) lines.push(band.label);
    return { name: trace.label, value: format(trace.y[i], y), lines };
  }

  show(found, heard) {
    if (!found) { this.hide(); return; }
    this.focus = found;
    const [x, y] = this.at(found.trace, found.i);
    const { name, value, lines } = this.words(found.trace, found.i);
    this.tip.replaceChildren(node("strong", "", name), node("span", "value", value), ...lines.map((l) => node("span", "", l)));
    this.tip.hidden = this.spot.hidden = false;
    this.spot.style.left = `${x}px`;
    this.spot.style.top = `${y}px`;
    const box = this.panel.plot.over.getBoundingClientRect();
    const outer = this.panel.root.getBoundingClientRect();
    const [left, top] = [box.left - outer.left + x, box.top - outer.top + y];
    const { offsetWidth: wide, offsetHeight: tall } = this.tip;
    const right = left + 14 + wide <= outer.width;
    this.tip.style.left = `${Math.max(0, Math.min(right ? left + 14 : left - 14 - wide, outer.width - wide))}px`;
    this.tip.style.top = `${top - tall - 10 >= -30 ? top - tall - 10 : top + 14}px`;
    if (heard) this.panel.chart.heard.textContent = [name, value, ...lines].join(", ");
  }

  hide() {
    this.tip.hidden = this.spot.hidden = true;
  }

  key(event) {
    const moves = { ArrowRight: 1, ArrowLeft: -1, Home: "first", End: "last" };
    const zooms = { "+": 0.5, "=": 0.5, "-": 2 };
    const rows = this.panel.traces.filter((t) => t.xs.some((_, i) => this.seen(t, i)));
    if (event.ctrlKey || event.metaKey || event.altKey || !rows.length) return;
    if (event.key === "Escape") this.hide();
    else if (event.key in moves) this.step(rows, moves[event.key]);
    else if (event.key === "ArrowUp" || event.key === "ArrowDown") this.row(rows, event.key === "ArrowUp" ? 1 : -1);
    else if (event.key in zooms) this.panel.chart.zoom(this.panel, zooms[event.key]);
    else if (event.key === "0") this.panel.chart.whole();
    else return;
    event.preventDefault();
  }

  step(rows, way) {
    const known = this.focus && rows.includes(this.focus.trace);
    const trace = known ? this.focus.trace : rows[0];
    const places = trace.xs.map((_, i) => i).filter((i) => this.seen(trace, i));
    let next = places[way === "last" ? places.length - 1 : 0];
    if (known && typeof way === "number") {
      const now = places.indexOf(this.focus.i);
      next = places[Math.min(places.length - 1, Math.max(0, (now < 0 ? 0 : now) + way))];
    }
    this.show({ trace, i: next }, true);
  }

  row(rows, way) {
    if (!this.focus || !rows.includes(this.focus.trace)) { this.step(rows, "first"); return; }
    const trace = rows[(rows.indexOf(this.focus.trace) + way + rows.length) % rows.length];
    const x = this.focus.trace.xs[this.focus.i];
    const places = trace.xs.map((_, i) => i).filter((i) => this.seen(trace, i));
    const next = places.reduce((a, b) => (Math.abs(trace.xs[b] - x) < Math.abs(trace.xs[a] - x) ? b : a));
    this.show({ trace, i: next }, true);
  }
}
