// Nodes, numbers and ticks as words: nothing here knows a picture.
const FEWEST_FOR_LOG = 3; // ticks; with fewer round ones a logarithmic axis is marked as a linear one is

const node = (tag, name, text) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};
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
