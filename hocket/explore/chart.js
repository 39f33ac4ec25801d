"use strict";

// A chart with two logarithmic axes, drawn anew whenever its curves change.

const CHART = { height: 300, left: 62, right: 16, top: 12, bottom: 44 };
const WIDTHS = [300, 620]; // between these a chart is as wide as its place, so that its letters keep their size

function shape(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Curves are { label, kind, points: [[x, y], …] }; what is not positive leaves the chart. */
function drawChart(box, { curves, across, up, alt, lowest = 0 }) {
  const points = curves.flatMap((curve) => curve.points).filter(([, y]) => y > lowest);
  if (!points.length) {
    box.replaceChildren();
    return;
  }
  const width = Math.min(Math.max(box.clientWidth, WIDTHS[0]), WIDTHS[1]);
  const x = logarithmic(points.map(([x]) => x), CHART.left, width - CHART.right, (power) => power);
  const y = logarithmic(points.map(([, y]) => y), CHART.height - CHART.bottom, CHART.top);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${CHART.height}`, role: "img", "aria-label": alt });
  svg.append(...axes(width, x, y, across, up));
  for (const curve of curves) {
    for (const stretch of stretches(curve.points, lowest)) {
      const path = stretch.map(([k, value]) => `${x.at(k).toFixed(1)},${y.at(value).toFixed(1)}`).join("L");
      svg.append(shape("path", { class: `curve ${curve.kind}`, d: `M${path}` }));
    }
  }
  box.replaceChildren(svg, key(curves));
}

/** A scale from one power of ten to another, by default whole ones, with marks at whole ones. */
function logarithmic(values, from, to, up = Math.ceil) {
  const low = Math.floor(Math.log10(Math.min(...values)) + 1e-9);
  const high = Math.max(low + 1, up(Math.log10(Math.max(...values)) - 1e-9));
  const every = Math.ceil((high - low) / 6);
  return {
    at: (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from),
    marks: Array.from({ length: Math.floor((high - low) / every + 1e-6) + 1 }, (_, place) => low + place * every),
  };
}

function stretches(points, lowest) {
  const parts = [[]];
  for (const point of points) {
    if (point[1] > lowest) parts.at(-1).push(point);
    else if (parts.at(-1).length) parts.push([]);
  }
  return parts.filter((part) => part.length);
}

function axes(width, x, y, across, up) {
  const { height, left, right, top, bottom } = CHART;
  const floor = height - bottom;
  const parts = [
    shape("path", { class: "axis", fill: "none", d: `M${left},${top}V${floor}H${width - right}` }),
    shape("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, across),
    shape("text", { transform: `translate(14 ${(top + floor) / 2}) rotate(-90)`, "text-anchor": "middle" }, up),
  ];
  for (const mark of x.marks) {
    const place = x.at(10 ** mark);
    parts.push(shape("path", { class: "grid", d: `M${place},${top}V${floor}` }),
      shape("text", { x: place, y: floor + 17, "text-anchor": "middle" }, ...power(mark)));
  }
  for (const mark of y.marks) {
    const place = y.at(10 ** mark);
    parts.push(shape("path", { class: "grid", d: `M${left},${place}H${width - right}` }),
      shape("text", { x: left - 8, y: place + 4, "text-anchor": "end" }, ...power(mark)));
  }
  return parts;
}

function power(exponent) {
  return ["10", shape("tspan", { dy: "-5", "font-size": "9" }, String(exponent).replace("-", "−"))];
}

function key(curves) {
  const list = element("ul", { className: "key" });
  for (const { label, kind } of curves.filter((curve) => curve.label)) {
    const line = shape("svg", { viewBox: "0 0 40 10", "aria-hidden": "true" },
      shape("path", { class: `curve ${kind}`, d: "M0,5H40" }));
    list.append(element("li", {}, line, label));
  }
  return list;
}

/** A number in three digits. */
function plain(value) {
  if (value === null || value === undefined) return "below what can be drawn";
  return value >= 1e-3 && value < 1e5 ? String(Number(value.toPrecision(3))) : value.toExponential(2);
}
