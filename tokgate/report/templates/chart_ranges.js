// How far the axes of a panel reach: all of its values, limits and what is written above them.
const padded = (values, axis, log, share) => {
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
};
const rangeX = ({ traces, spec, logX }) => {
  const values = [];
  for (const t of traces) for (const v of t.xs) values.push(v);
  for (const l of spec.lines || []) if (l.way === "x") values.push(l.at);
  return padded(values, spec.x, logX, 0.04);
};
const rangeY = ({ traces, spec, logY }) => {
  const values = [];
  for (const t of traces) for (const part of [t.ys, t.low || [], t.high || []]) for (const v of part) values.push(v);
  for (const l of spec.lines || []) if (l.way === "y") values.push(l.at);
  const [low, high] = padded(values, spec.y, logY, 0.07);
  // What is written at the top of a band stands above the lines.
  const tagged = !logY && spec.y.high === undefined && (spec.bands || []).some((b) => b.tag);
  return [low, tagged ? high + (high - low) * 0.13 : high];
};
