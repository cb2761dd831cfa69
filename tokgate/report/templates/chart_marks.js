// What tells series apart besides their colour: marks and dashes, in pictures and in the list below them.
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 2], [12, 4], [1, 4], [6, 2, 1, 2]];
const dashOf = (number) => DASHES[(number || 0) % DASHES.length];

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

// The sign of a series, a limit or a band in the list below a picture; `colour` is its CSS colour.
const swatchOf = (item, colour) => {
  const px = Math.max(1, window.devicePixelRatio || 1);
  const made = node("canvas");
  [made.width, made.height] = [26 * px, 14 * px];
  made.style.cssText = "width:26px;height:14px;flex:none";
  made.setAttribute("aria-hidden", "true");
  const context = made.getContext("2d");
  context.scale(px, px);
  context.fillStyle = context.strokeStyle = colour;
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
};
