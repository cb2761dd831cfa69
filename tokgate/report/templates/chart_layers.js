// Bands, limits and marks: everything on the canvas that is no series of uPlot's.
// Clips to the picture; `px` turns CSS pixels into the canvas's.
const begin = (u) => {
  const context = u.ctx;
  context.save();
  context.beginPath();
  context.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  context.clip();
  return [context, uPlot.pxRatio];
};

const ends = (u, way, item) => {
  const other = way === "x" ? "y" : "x";
  const whole = other === "x" ? [u.bbox.left, u.bbox.left + u.bbox.width] : [u.bbox.top + u.bbox.height, u.bbox.top];
  const at = (value, edge) => (value === undefined || value === null ? edge : u.valToPos(value, other, true));
  return [at(item.first, whole[0]), at(item.last, whole[1])];
};

const drawUnder = (u, { spec, chart }) => {
  const [context, px] = begin(u);
  for (const band of spec.bands || []) {
    const a = u.valToPos(band.low, band.way, true);
    const b = u.valToPos(band.high, band.way, true);
    const [first, last] = ends(u, band.way, band);
    context.globalAlpha = band.tone === "soft" ? 0.13 : band.tag ? 0.12 : 0.22;
    context.fillStyle = chart.colour(band.tone);
    const thick = Math.max(Math.abs(b - a), 1.5 * px);
    if (band.way === "x") context.fillRect(Math.min(a, b), Math.min(first, last), thick, Math.abs(last - first));
    else context.fillRect(Math.min(first, last), Math.min(a, b), Math.abs(last - first), thick);
    context.globalAlpha = 1;
    if (band.tag && band.way === "x") {
      context.font = FONT.replace("12px", `${11 * px}px`);
      if (context.measureText(band.tag).width < thick - 6 * px) {
        context.fillStyle = chart.colour("soft", "--chart-");
        context.textAlign = "center";
        context.textBaseline = "top";
        context.fillText(band.tag, (a + b) / 2, u.bbox.top + 3 * px);
      }
    }
  }
  context.restore();
};

const drawAbove = (u, { spec, traces, chart }) => {
  const [context, px] = begin(u);
  for (const line of spec.lines || []) {
    const at = u.valToPos(line.at, line.way, true);
    const [first, last] = ends(u, line.way, line);
    context.strokeStyle = chart.colour(line.tone);
    context.lineWidth = (line.quiet ? 1.4 : 1.8) * px;
    context.globalAlpha = line.quiet && line.way === "x" ? 0.45 : 1;
    context.setLineDash(dashOf(line.dash).map((d) => d * px));
    context.beginPath();
    if (line.way === "x") { context.moveTo(at, first); context.lineTo(at, last); } else { context.moveTo(first, at); context.lineTo(last, at); }
    context.stroke();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
  for (const trace of traces) if (trace.draw === "points" || trace.draw === "intervals") drawMarks(u, context, px, trace, chart);
  context.restore();
};

const drawMarks = (u, context, px, trace, chart) => {
  const many = trace.ys.length > 150;
  context.fillStyle = context.strokeStyle = chart.colour(trace.tone);
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
};
