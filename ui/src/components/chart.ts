// Paths of small charts. Pure: numbers in, SVG path data out.

export interface Box {
  width: number;
  height: number;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** A line through `values`, evenly spaced; the newest stands at the right edge, `nSlots` fill the width. */
export function linePath(values: readonly number[], nSlots: number, box: Box, top: number): string {
  if (values.length === 0 || nSlots < 2) return "";
  const step = box.width / (nSlots - 1);
  const start = box.width - step * (values.length - 1);
  const y = (value: number) => round(box.height - (top > 0 ? Math.min(1, Math.max(0, value / top)) : 0) * box.height);
  const points = values.map((value, idx) => `${round(start + idx * step)} ${y(value)}`);
  return `M${points.join("L")}`;
}

/** The same line, closed down to the floor. */
export function areaPath(values: readonly number[], nSlots: number, box: Box, top: number): string {
  const line = linePath(values, nSlots, box, top);
  if (!line) return "";
  const start = round(box.width - (box.width / (nSlots - 1)) * (values.length - 1));
  return `${line}V${box.height}H${start}Z`;
}

/** A round number at or above the greatest value, so that the scale jumps seldom. */
export function niceTop(values: readonly number[]): number {
  const max = Math.max(0, ...values);
  if (max === 0) return 1;
  const power = 10 ** Math.floor(Math.log10(max));
  const step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= max) ?? 10;
  return step * power;
}
