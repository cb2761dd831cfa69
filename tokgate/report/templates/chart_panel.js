// One pair of axes with what is drawn between them, by uPlot.
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

// uPlot joins by x in rising order; of values at one x the last counts.
const ascending = ([xs, ys]) => {
  const kept = xs.map((_, i) => i).filter((i) => i + 1 === xs.length || xs[i + 1] > xs[i]);
  return [kept.map((i) => xs[i]), kept.map((i) => ys[i])];
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
    this.x = rangeX(this);
    this.y = rangeY(this);
  }

  prepared(trace) {
    const begin = trace.x0 || 0;
    const xs = trace.x || trace.y.map((_, i) => begin + (trace.numbers ? trace.numbers[i] : i));
    return Object.assign({}, trace, { xs, ys: trace.y });
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
    this.pointer = new Pointer(this);
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
        drawClear: [(u) => drawUnder(u, this)],
        draw: [(u) => drawAbove(u, this)],
        setScale: [(u, key) => { if (key === "x" && this.pointer) this.pointer.hide(); }],
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
}
