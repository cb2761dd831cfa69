// Draws the figures of #tokgate-charts (tokgate/report/charts/drawing.py says what they are made of) with uPlot. Every
// text goes into the page as text; nothing is evaluated or fetched. Without this script words and tables stay.
(() => {
  "use strict";
  const holder = document.getElementById("tokgate-charts");
  if (!holder || typeof uPlot === "undefined") return;

  const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 2], [12, 4], [1, 4], [6, 2, 1, 2]];
  const NEAR = 48; // CSS pixels beside a value within which it answers to the pointer
  const STEEP = 0.4; // what a pixel above or below counts for: a sparse picture answers everywhere
  const PRINTED = 660; // CSS pixels that fit a sheet of paper
  const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  const FEWEST_FOR_LOG = 3; // ticks; with fewer round ones a logarithmic axis is marked as a linear one is

  const node = (tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const dashOf = (number) => DASHES[(number || 0) % DASHES.length];
  const finite = (value) => typeof value === "number" && isFinite(value);

  const format = (value, axis) => {
    if (!finite(value)) return "unknown";
    let text;
    if (axis.digits !== undefined && (value === 0 || Math.abs(value) >= 10 ** -axis.digits)) text = value.toFixed(axis.digits);
    else text = String(Number(value.toPrecision(4)));
    return axis.unit ? `${text} ${axis.unit}` : text;
  };

  const roundTicks = (low, high, most) => {
    const raw = (high - low) / Math.max(1, most);
    if (!(raw > 0)) return [low];
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) found.push(Number((i * step).toPrecision(12)));
    return found;
  };
  const logTicks = (low, high, most) => {
    const found = [];
    for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); p += 1)
      for (const m of [1, 2, 5]) if (m * 10 ** p >= low && m * 10 ** p <= high) found.push(m * 10 ** p);
    if (found.length < FEWEST_FOR_LOG) return roundTicks(low, high, most);
    return found.filter((_, i) => i % Math.ceil(found.length / most) === 0);
  };
  const tickText = (ticks) => {
    const gaps = ticks.slice(1).map((t, i) => t - ticks[i]);
    const least = Math.min(...gaps, Math.abs(ticks[0]) || 1);
    if (!gaps.length) return ticks.map(String);
    const digits = Math.max(0, -Math.floor(Math.log10(least) + 1e-9));
    return ticks.map((t) => (digits > 6 ? t.toExponential(1) : t.toFixed(digits)));
  };

  // One path for pictures and for the list below them.
  const drawMark = (context, mark, x, y, r) => {
    context.beginPath();
    if (mark === "square") context.rect(x - r * 0.85, y - r * 0.85, r * 1.7, r * 1.7);
    else if (mark === "triangle") {
      context.moveTo(x, y - r * 1.15);
      context.lineTo(x + r * 1.05, y + r * 0.8);
      context.lineTo(x - r * 1.05, y + r * 0.8);
      context.closePath();
    } else if (mark === "diamond") {
      context.moveTo(x, y - r * 1.3);
      context.lineTo(x + r * 1.3, y);
      context.lineTo(x, y + r * 1.3);
      context.lineTo(x - r * 1.3, y);
      context.closePath();
    } else if (mark === "cross" || mark === "plus") {
      const d = mark === "cross" ? r * 0.8 : 0;
      const e = mark === "cross" ? r * 0.8 : r * 1.1;
      context.moveTo(x - (d || e), y - d);
      context.lineTo(x + (d || e), y + d);
      context.moveTo(x + d, y - e);
      context.lineTo(x - d, y + e);
    } else context.arc(x, y, r, 0, 2 * Math.PI);
    if (mark === "cross" || mark === "plus" || mark === "ring") context.stroke();
    else context.fill();
  };

  class Panel {
    constructor(chart, spec, place) {
      this.chart = chart;
      this.spec = spec;
      this.place = place;
      this.traces = spec.traces.filter((t) => !chart.hidden.has(t.label)).map((t) => this.prepared(t));
      const bars = this.traces.filter((t) => t.draw === "bars");
      bars.forEach((t, i) => {
        t.base = t.xs.map((_, k) => bars.slice(0, i).reduce((sum, b) => sum + (b.y[k] || 0), 0));
        t.ys = t.y.map((v, k) => (finite(v) ? v + t.base[k] : null));
      });
      this.logX = chart.log && Boolean(spec.x.log);
      this.logY = chart.log && Boolean(spec.y.log);
      this.x = this.rangeX();
      this.y = this.rangeY();
    }

    prepared(trace) {
      const begin = trace.x0 || 0;
      const xs = trace.x || trace.y.map((_, i) => begin + (trace.numbers ? trace.numbers[i] : i));
      return Object.assign({}, trace, { xs, ys: trace.y });
    }

    padded(values, axis, log, share) {
      const known = values.filter((v) => finite(v) && (!log || v > 0));
      let low = Math.min(...known);
      let high = Math.max(...known);
      if (!known.length) [low, high] = log ? [1, 10] : [0, 1];
      const pad = (high - low) * share || Math.abs(low) * 0.02 || 1;
      const forced = (value, other) => (value !== undefined && value !== null && (!log || value > 0) ? value : other);
      if (log) {
        const factor = Math.max((high / low) ** share, 1.01);
        return [low / factor, high * factor];
      }
      low = forced(axis.low, low - pad);
      // A bar or a limit that reaches beyond what must be seen is seen as well.
      return [low, Math.max(forced(axis.high, high + pad), axis.high === undefined ? low : Math.min(high, axis.high))];
    }

    rangeX() {
      const values = [];
      for (const t of this.traces) for (const v of t.xs) values.push(v);
      for (const l of this.spec.lines || []) if (l.way === "x") values.push(l.at);
      return this.padded(values, this.spec.x, this.logX, 0.04);
    }

    rangeY() {
      const values = [];
      for (const t of this.traces) for (const part of [t.ys, t.low || [], t.high || []]) for (const v of part) values.push(v);
      for (const l of this.spec.lines || []) if (l.way === "y") values.push(l.at);
      const [low, high] = this.padded(values, this.spec.y, this.logY, 0.07);
      // What is written at the top of a band stands above the lines.
      const tagged = !this.logY && this.spec.y.high === undefined && (this.spec.bands || []).some((b) => b.tag);
      return [low, tagged ? high + (high - low) * 0.13 : high];
    }

    draw(parent, width) {
      const spec = this.spec;
      const better = spec.y.unit ? `${spec.y.label}, ${spec.y.unit}` : spec.y.label;
      const head = node("p", "axis-name");
      head.append(node("span", "", spec.title ? `${spec.title}: ${better}` : better));
      parent.append(head);
      this.root = node("div", "plot");
      this.root.tabIndex = 0;
      this.root.setAttribute("role", "application");
      this.root.setAttribute("aria-roledescription", "chart");
      this.root.setAttribute("aria-label", `${this.chart.data.title}, ${better}. ${this.chart.view().says || ""} Arrow keys go from value to value, plus and minus zoom, 0 shows all.`);
      parent.append(this.root);
      const name = spec.x.unit ? `${spec.x.label}, ${spec.x.unit}` : spec.x.label;
      const next = this.chart.view().panels[this.place + 1];
      // Panels above each other share their axis: it is named once.
      if (!next || next.x.label !== spec.x.label) {
        const below = node("p", "axis-name below");
        below.append(node("span", "", name));
        parent.append(below);
      }
      const drawn = this.traces.filter((t) => t.draw !== "points" && t.draw !== "intervals");
      const order = [...drawn.filter((t) => t.draw === "bars").reverse(), ...drawn.filter((t) => t.draw !== "bars")];
      const tables = order.map((t) => [t.xs, t.ys]);
      const data = tables.length ? uPlot.join(tables.map(ascending)) : [this.x, [null, null]];
      const series = [{}, ...(tables.length ? order.map((t) => this.serie(t)) : [{ show: false }])];
      this.plot = new uPlot(this.options(width, series), data, this.root);
      this.plot.setScale("x", { min: this.x[0], max: this.x[1] });
      this.root.querySelectorAll("canvas").forEach((c) => c.setAttribute("aria-hidden", "true"));
      this.tip = node("div", "tip");
      this.spot = node("div", "spot");
      this.tip.hidden = this.spot.hidden = true;
      this.plot.over.append(this.spot);
      this.root.append(this.tip);
      this.listen();
    }

    serie(trace) {
      const colour = this.chart.colour(trace.tone);
      const paths = { bars: () => uPlot.paths.bars({ size: [0.62, 72] }), steps: () => uPlot.paths.stepped({ align: 1 }), line: () => uPlot.paths.linear() };
      return {
        paths: paths[trace.draw](),
        stroke: colour,
        width: trace.draw === "bars" ? 0 : 1.6,
        fill: trace.draw === "bars" ? colour : undefined,
        dash: trace.draw === "bars" ? undefined : dashOf(trace.dash),
        points: { show: false },
      };
    }

    options(width, series) {
      const ink = this.chart.colour("ink", "--chart-");
      const soft = this.chart.colour("soft", "--chart-");
      const grid = { stroke: this.chart.colour("line", "--chart-"), width: 1 };
      const narrow = width < 480;
      const lines = (this.spec.x.ticks || []).some((t) => t.label.includes("\n")) ? 2 : 1;
      return {
        width,
        height: narrow ? Math.round((this.spec.height || 260) * 0.85) : this.spec.height || 260,
        pxAlign: 0,
        legend: { show: false },
        padding: [10, 12, 0, this.spec.x.ticks ? 18 : 0], // half of what is written below the first tick
        cursor: {
          points: { show: false },
          y: false,
          drag: { x: true, y: false, setScale: true, dist: 6 },
          sync: this.chart.view().panels.length > 1 ? { key: this.chart.data.id, setSeries: false, scales: ["x", null] } : undefined,
          bind: { dblclick: () => () => { this.chart.whole(); return null; } },
        },
        scales: {
          x: { time: false, distr: this.logX ? 3 : 1, range: (_, low, high) => [low, high] },
          y: { distr: this.logY ? 3 : 1, range: () => this.y },
        },
        axes: [
          {
            stroke: soft, grid: this.spec.x.ticks ? { show: false } : grid, ticks: { show: false }, font: FONT, gap: 6, size: 14 + 16 * lines,
            splits: (u, _, low, high) => this.ticksX(u, low, high), filter: (_, splits) => splits,
            values: (u, splits) => this.textX(u, splits),
          },
          {
            stroke: soft, grid, ticks: { show: false }, font: FONT, gap: 6,
            // Panels above each other begin at the same place.
            size: (_, values) => (this.chart.view().panels.length > 1 ? 48 : 0) || 12 + 7 * Math.max(2, ...(values || []).map((v) => String(v).length)),
            filter: (_, splits) => splits,
            splits: (u, _, low, high) => (this.logY ? logTicks(low, high, 6) : roundTicks(low, high, (this.spec.height || 260) < 200 ? 3 : 5)),
            values: (_, splits) => tickText(splits),
          },
        ],
        series,
        hooks: {
          drawClear: [(u) => this.under(u)],
          draw: [(u) => this.above(u, ink)],
          setScale: [(u, key) => { if (key === "x") this.hide(); }],
        },
      };
    }

    ticksX(u, low, high) {
      const named = this.spec.x.ticks;
      if (named) return named.map((t) => t.at).filter((at) => at >= low && at <= high);
      const most = Math.max(2, Math.floor(u.width / 90));
      return this.logX ? logTicks(low, high, most) : roundTicks(low, high, most);
    }

    textX(u, splits) {
      const named = this.spec.x.ticks;
      if (!named) return tickText(splits);
      const context = u.ctx;
      context.font = FONT;
      const inner = u.width - 70;
      const room = splits.length > 1 ? (Math.min(...splits.slice(1).map((s, i) => s - splits[i])) / (u.scales.x.max - u.scales.x.min)) * inner : inner;
      const fits = (texts) => texts.every((t) => t.split("\n").every((line) => context.measureText(line).width < room - 8));
      const ticks = splits.map((at) => named.find((t) => t.at === at));
      const long = ticks.map((t) => t.label);
      if (fits(long)) return long;
      const short = ticks.map((t) => t.short || t.label);
      if (fits(short)) return short;
      const widest = Math.max(...short.flatMap((t) => t.split("\n").map((line) => context.measureText(line).width))) + 8;
      const every = Math.ceil(widest / Math.max(1, room));
      return short.map((t, i) => (i % every ? "" : t));
    }

    // Everything on the canvas that is no uPlot series; `px` turns CSS pixels into the canvas's.
    begin(u) {
      const context = u.ctx;
      context.save();
      context.beginPath();
      context.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      context.clip();
      return [context, uPlot.pxRatio];
    }

    ends(u, way, item) {
      const other = way === "x" ? "y" : "x";
      const whole = other === "x" ? [u.bbox.left, u.bbox.left + u.bbox.width] : [u.bbox.top + u.bbox.height, u.bbox.top];
      const at = (value, edge) => (value === undefined || value === null ? edge : u.valToPos(value, other, true));
      return [at(item.first, whole[0]), at(item.last, whole[1])];
    }

    under(u) {
      const [context, px] = this.begin(u);
      for (const band of this.spec.bands || []) {
        const a = u.valToPos(band.low, band.way, true);
        const b = u.valToPos(band.high, band.way, true);
        const [first, last] = this.ends(u, band.way, band);
        context.globalAlpha = band.tone === "soft" ? 0.13 : band.tag ? 0.12 : 0.22;
        context.fillStyle = this.chart.colour(band.tone);
        const thick = Math.max(Math.abs(b - a), 1.5 * px);
        if (band.way === "x") context.fillRect(Math.min(a, b), Math.min(first, last), thick, Math.abs(last - first));
        else context.fillRect(Math.min(first, last), Math.min(a, b), Math.abs(last - first), thick);
        context.globalAlpha = 1;
        if (band.tag && band.way === "x") {
          context.font = FONT.replace("12px", `${11 * px}px`);
          if (context.measureText(band.tag).width < thick - 6 * px) {
            context.fillStyle = this.chart.colour("soft", "--chart-");
            context.textAlign = "center";
            context.textBaseline = "top";
            context.fillText(band.tag, (a + b) / 2, u.bbox.top + 3 * px);
          }
        }
      }
      context.restore();
    }

    above(u, ink) {
      const [context, px] = this.begin(u);
      for (const line of this.spec.lines || []) {
        const at = u.valToPos(line.at, line.way, true);
        const [first, last] = this.ends(u, line.way, line);
        context.strokeStyle = this.chart.colour(line.tone);
        context.lineWidth = (line.quiet ? 1.4 : 1.8) * px;
        context.globalAlpha = line.quiet && line.way === "x" ? 0.45 : 1;
        context.setLineDash(dashOf(line.dash).map((d) => d * px));
        context.beginPath();
        if (line.way === "x") { context.moveTo(at, first); context.lineTo(at, last); } else { context.moveTo(first, at); context.lineTo(last, at); }
        context.stroke();
      }
      context.setLineDash([]);
      context.globalAlpha = 1;
      for (const trace of this.traces) if (trace.draw === "points" || trace.draw === "intervals") this.marks(u, context, px, trace);
      context.restore();
    }

    marks(u, context, px, trace) {
      const many = trace.ys.length > 150;
      context.fillStyle = context.strokeStyle = this.chart.colour(trace.tone);
      context.lineWidth = 1.6 * px;
      const places = trace.xs.map((x, i) => (finite(trace.ys[i]) ? [u.valToPos(x, "x", true), u.valToPos(trace.ys[i], "y", true)] : null));
      if (trace.draw === "intervals") {
        context.setLineDash(dashOf(trace.dash).map((d) => d * px));
        context.beginPath();
        places.filter(Boolean).forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
        context.stroke();
        context.setLineDash([]);
        places.forEach((at, i) => {
          if (!at || !trace.low || !finite(trace.low[i]) || !finite(trace.high[i])) return;
          const [low, high] = [u.valToPos(trace.low[i], "y", true), u.valToPos(trace.high[i], "y", true)];
          context.beginPath();
          for (const y of [low, high]) { context.moveTo(at[0] - 5 * px, y); context.lineTo(at[0] + 5 * px, y); }
          context.moveTo(at[0], low);
          context.lineTo(at[0], high);
          context.stroke();
        });
      }
      context.globalAlpha = many ? 0.6 : 0.85;
      for (const at of places) if (at && trace.mark !== "none") drawMark(context, trace.mark || "circle", at[0], at[1], (many ? 2.4 : 3.8) * px);
      context.globalAlpha = 1;
    }

    // --- what is pointed at

    listen() {
      const over = this.plot.over;
      const point = (event) => {
        const box = over.getBoundingClientRect();
        this.show(this.nearest(event.clientX - box.left, event.clientY - box.top));
      };
      over.addEventListener("pointermove", point);
      over.addEventListener("pointerdown", point);
      over.addEventListener("pointerleave", () => this.hide());
      this.root.addEventListener("blur", () => this.hide());
      this.root.addEventListener("keydown", (event) => this.key(event));
    }

    at(trace, i) {
      const y = trace.base ? (trace.base[i] + trace.ys[i]) / 2 : trace.ys[i];
      return [this.plot.valToPos(trace.xs[i], "x"), this.plot.valToPos(y, "y")];
    }

    seen(trace, i) {
      const scale = this.plot.scales.x;
      return finite(trace.ys[i]) && trace.xs[i] >= scale.min && trace.xs[i] <= scale.max;
    }

    nearest(x, y) {
      let best = null;
      for (const trace of this.traces) {
        const line = trace.draw === "line" || trace.draw === "steps";
        let mine = null;
        for (let i = 0; i < trace.xs.length; i += 1) {
          if (!this.seen(trace, i)) continue;
          const [px, py] = this.at(trace, i);
          let dy = Math.abs(py - y);
          if (trace.base) {
            const half = Math.abs(this.plot.valToPos(trace.base[i], "y") - this.plot.valToPos(trace.ys[i], "y")) / 2;
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
      const { x, y } = this.spec;
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
      if (place !== undefined) for (const [name, told] of Object.entries(this.chart.data.facts)) lines.push(`${name}: ${told[place]}`);
      const within = (this.spec.bands || []).filter((b) => b.way === "x" && b.label && trace.xs[i] >= b.low && trace.xs[i] <= b.high);
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
      const box = this.plot.over.getBoundingClientRect();
      const outer = this.root.getBoundingClientRect();
      const [left, top] = [box.left - outer.left + x, box.top - outer.top + y];
      const { offsetWidth: wide, offsetHeight: tall } = this.tip;
      const right = left + 14 + wide <= outer.width;
      this.tip.style.left = `${Math.max(0, Math.min(right ? left + 14 : left - 14 - wide, outer.width - wide))}px`;
      this.tip.style.top = `${top - tall - 10 >= -30 ? top - tall - 10 : top + 14}px`;
      if (heard) this.chart.heard.textContent = [name, value, ...lines].join(", ");
    }

    hide() {
      if (this.tip) this.tip.hidden = this.spot.hidden = true;
    }

    key(event) {
      const moves = { ArrowRight: 1, ArrowLeft: -1, Home: "first", End: "last" };
      const zooms = { "+": 0.5, "=": 0.5, "-": 2 };
      const rows = this.traces.filter((t) => t.xs.some((_, i) => this.seen(t, i)));
      if (event.ctrlKey || event.metaKey || event.altKey || !rows.length) return;
      if (event.key === "Escape") this.hide();
      else if (event.key in moves) this.step(rows, moves[event.key]);
      else if (event.key === "ArrowUp" || event.key === "ArrowDown") this.row(rows, event.key === "ArrowUp" ? 1 : -1);
      else if (event.key in zooms) this.chart.zoom(this, zooms[event.key]);
      else if (event.key === "0") this.chart.whole();
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

  // uPlot joins by x in rising order; of values at one x the last counts.
  const ascending = ([xs, ys]) => {
    const kept = xs.map((_, i) => i).filter((i) => i + 1 === xs.length || xs[i + 1] > xs[i]);
    return [kept.map((i) => xs[i]), kept.map((i) => ys[i])];
  };

  class Chart {
    constructor(data) {
      this.data = data;
      this.root = document.getElementById(`chart-${data.id}`);
      this.picture = this.root.querySelector(".picture");
      this.legend = this.root.querySelector(".legend");
      this.heard = node("div", "heard");
      this.heard.setAttribute("role", "status");
      this.root.append(this.heard);
      this.chosen = [...(data.views[0].chosen || [])];
      this.hidden = new Set();
      this.log = false;
      this.panels = [];
      this.controls();
      this.draw();
    }

    view() {
      const same = (v, many) => (v.chosen || []).slice(0, many).every((c, i) => c === this.chosen[i]);
      const { views } = this.data;
      return views.find((v) => same(v, this.chosen.length)) || views.find((v) => same(v, 1)) || views[0];
    }

    colour(tone, prefix = "--tone-") {
      return getComputedStyle(this.root).getPropertyValue(prefix + tone).trim();
    }

    controls() {
      const bar = this.root.querySelector(".controls");
      (this.data.choices || []).forEach((name, place) => {
        const options = [...new Set(this.data.views.map((v) => v.chosen[place]))];
        if (options.length < 2) return;
        const label = node("label", "", `${name} `);
        const select = node("select");
        options.forEach((o) => select.append(node("option", "", o)));
        select.addEventListener("change", () => {
          this.chosen[place] = select.value;
          const found = this.view();
          this.chosen = [...found.chosen];
          bar.querySelectorAll("select").forEach((s) => { s.value = this.chosen[Number(s.dataset.place)]; });
          this.hidden.clear();
          this.draw();
        });
        select.dataset.place = String(place);
        label.append(select);
        bar.append(label);
      });
      if (this.data.views.some((v) => v.panels.some((p) => p.x.log || p.y.log))) {
        const label = node("label");
        const box = node("input");
        box.type = "checkbox";
        box.addEventListener("change", () => { this.log = box.checked; this.draw(); });
        label.append(box, document.createTextNode(" logarithmic"));
        bar.append(label);
      }
      bar.append(node("span", "hint", "drag to look closer, double-click for all"));
    }

    draw(width) {
      this.panels.forEach((p) => p.plot && p.plot.destroy());
      this.picture.replaceChildren();
      const wide = width || Math.floor(this.picture.clientWidth) || PRINTED;
      this.wide = wide;
      this.panels = this.view().panels.map((spec, i) => new Panel(this, spec, i));
      this.panels.forEach((p) => p.draw(this.picture, wide));
      this.list();
    }

    resize() {
      const wide = Math.floor(this.picture.clientWidth);
      if (wide && wide !== this.wide) this.draw();
    }

    whole() {
      this.panels.forEach((p) => p.plot.setScale("x", { min: p.x[0], max: p.x[1] }));
    }

    zoom(panel, factor) {
      const { min, max } = panel.plot.scales.x;
      const middle = panel.focus ? panel.focus.trace.xs[panel.focus.i] : (min + max) / 2;
      const half = ((max - min) / 2) * factor;
      const low = Math.max(panel.x[0], middle - half);
      const high = Math.min(panel.x[1], middle + half);
      this.panels.forEach((p) => p.plot.setScale("x", { min: low, max: high }));
    }

    list() {
      const seen = new Set();
      const items = [];
      const add = (label, note, swatch, trace) => {
        if (!label || seen.has(label)) return;
        seen.add(label);
        const item = node("li");
        if (trace) {
          const button = node("button");
          button.type = "button";
          button.setAttribute("aria-pressed", String(!this.hidden.has(label)));
          button.append(swatch, node("span", "", label));
          button.addEventListener("click", () => {
            if (!this.hidden.delete(label)) this.hidden.add(label);
            this.draw();
            const again = [...this.legend.querySelectorAll("button")].find((b) => b.lastChild.textContent === label);
            if (again) again.focus();
          });
          item.append(button);
        } else item.append(swatch, node("span", "", label));
        if (note) item.append(node("span", "said", note));
        items.push(item);
      };
      const { panels } = this.view();
      for (const p of panels) for (const t of p.traces) add(t.label, t.note, this.swatch(t), true);
      for (const p of panels) {
        for (const l of p.lines || []) if (!l.quiet) add(l.label, "", this.swatch(Object.assign({ draw: "line" }, l)));
        for (const b of p.bands || []) if (!b.quiet) add(b.label, "", this.swatch(Object.assign({ draw: "band" }, b)));
      }
      this.legend.replaceChildren(...items);
    }

    swatch(item) {
      const px = Math.max(1, window.devicePixelRatio || 1);
      const made = node("canvas");
      [made.width, made.height] = [26 * px, 14 * px];
      made.style.cssText = "width:26px;height:14px;flex:none";
      made.setAttribute("aria-hidden", "true");
      const context = made.getContext("2d");
      context.scale(px, px);
      context.fillStyle = context.strokeStyle = this.colour(item.tone);
      context.lineWidth = 1.8;
      if (item.draw === "bars" || item.draw === "band") {
        context.globalAlpha = item.draw === "band" ? 0.35 : 1;
        context.fillRect(2, 2, 22, 10);
        return made;
      }
      if (item.draw !== "points") {
        context.setLineDash(dashOf(item.dash));
        context.beginPath();
        if (item.way === "x") { context.moveTo(13, 0); context.lineTo(13, 14); } else { context.moveTo(0, 7); context.lineTo(26, 7); }
        context.stroke();
        context.setLineDash([]);
      }
      if (item.draw === "points" || item.draw === "intervals") drawMark(context, item.mark || "circle", 13, 7, 4);
      return made;
    }
  }

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
})();
