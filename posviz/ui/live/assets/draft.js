// The draft: new numbers written into the paths that Plotly has drawn, on the axes it has drawn.
// It costs a few milliseconds for a page; Plotly.react follows when the values rest.

const TOLERANCE = 0.35; // CSS pixels a thinned line may leave the exact one

export function scale(axis) {
  const [from, to] = axis.range;
  const span = to - from, length = axis._length, log = axis.type === 'log';
  const flip = axis._id.charAt(0) === 'y';
  return (value) => {
    const part = ((log ? Math.log10(value) : value) - from) / span;
    return (flip ? 1 - part : part) * length;
  };
}

export function xs(trace) {
  if (trace.x) return trace.x;
  const count = (trace.y || []).length, x0 = trace.x0 ?? 0, dx = trace.dx ?? 1;
  return Float64Array.from({ length: count }, (_, i) => x0 + i * dx);
}

const r1 = (v) => Math.round(v * 10) / 10;
const LIMIT = 1e5; // far outside any panel; SVG renderers dislike more

// Screen points of a trace, with null where the line breaks.
function points(trace, axes) {
  const x = xs(trace), y = trace.y || [], px = scale(axes.x), py = scale(axes.y);
  const count = Math.min(x.length, y.length), out = [];
  for (let i = 0; i < count; i++) {
    const a = px(x[i]), b = py(y[i]);
    if (Number.isFinite(a) && Number.isFinite(b)) out.push([a, Math.max(-LIMIT, Math.min(LIMIT, b))]);
    else if (out.length && out[out.length - 1] !== null && !trace.connectgaps) out.push(null);
  }
  return out;
}

export function stepped(list, shape) {
  if (!shape || shape === 'linear' || shape === 'spline') return list;
  const out = [];
  let last = null;
  for (const point of list) {
    if (point && last) {
      if (shape === 'hv') out.push([point[0], last[1]]);
      else if (shape === 'vh') out.push([last[0], point[1]]);
      else if (shape === 'hvh') { const m = (last[0] + point[0]) / 2; out.push([m, last[1]], [m, point[1]]); }
      else if (shape === 'vhv') { const m = (last[1] + point[1]) / 2; out.push([last[0], m], [point[0], m]); }
    }
    out.push(point);
    last = point;
  }
  return out;
}

// Path text. On a line that runs rightwards, points that a straight segment meets within the
// tolerance are left out: the bundle of slopes that still fit narrows until it is empty.
export function path(list) {
  let text = '', anchor = null, held = null, low = 0, high = 0;
  const put = (command, p) => { text += command + r1(p[0]) + ',' + r1(p[1]); };
  const flush = () => { if (held) put('L', held); held = null; };
  for (const p of list) {
    if (p === null) { flush(); anchor = null; continue; }
    if (anchor === null) { put('M', p); anchor = p; low = -Infinity; high = Infinity; continue; }
    const dx = p[0] - anchor[0];
    if (dx <= 0.01) { flush(); put('L', p); anchor = p; low = -Infinity; high = Infinity; continue; }
    const slope = (p[1] - anchor[1]) / dx;
    if (held && (slope < low || slope > high)) {
      anchor = held;
      flush();
      const step = p[0] - anchor[0];
      if (step <= 0.01) { put('L', p); anchor = p; low = -Infinity; high = Infinity; continue; }
      low = (p[1] - TOLERANCE - anchor[1]) / step;
      high = (p[1] + TOLERANCE - anchor[1]) / step;
    } else {
      low = Math.max(low, (p[1] - TOLERANCE - anchor[1]) / dx);
      high = Math.min(high, (p[1] + TOLERANCE - anchor[1]) / dx);
    }
    held = p;
  }
  flush();
  return text;
}

export const axisOf = (layout, reference, letter) => layout[`${letter}axis${(reference || letter).slice(1)}`];

// Draws the traces of a new figure into the panel as it stands. False when that cannot be done
// (other traces, other axes, a line that was not there): Plotly has to draw then.
export function draft(plot, traces, layout) {
  const full = plot._fullLayout;
  if (!full || !plot._fullData || plot._fullData.length !== traces.length) return false;
  for (const name of Object.keys(layout || {}))
    if (/^[xy]axis/.test(name) && !standsAs(full[name], layout[name])) return false;
  if (traces.some((trace, i) => ['xaxis', 'yaxis'].some((name) => (trace[name] || name[0]) !== (plot._fullData[i][name] || name[0])))) return false;
  let complete = true;
  for (const group of plot.querySelectorAll('.scatterlayer > .trace')) {
    const index = group.__data__?.[0]?.trace?.index;
    const trace = traces[index];
    if (!trace) return false;
    if (trace.type === 'heatmap') continue; // painted by itself; here stands an empty trace
    complete = draftTrace(group, trace, full) && complete;
  }
  return complete;
}

// Whether an axis is drawn with the type and, in small multiples, at the place that it is to have.
const standsAs = (drawn, axis) =>
  Boolean(drawn) && (!axis.type || drawn.type === axis.type) && (!axis.domain || String(drawn.domain) === String(axis.domain));

function draftTrace(group, trace, full) {
  const axes = { x: axisOf(full, trace.xaxis, 'x'), y: axisOf(full, trace.yaxis, 'y') };
  if (!axes.x || !axes.y) return false;
  const mode = trace.mode || 'lines', list = points(trace, axes);
  let complete = true;
  if (mode.includes('lines')) {
    const lines = group.querySelectorAll('path.js-line');
    if (!lines.length && list.length > 1) return false;
    lines.forEach((line, i) => line.setAttribute('d', i ? '' : path(stepped(list, trace.line?.shape))));
  }
  if (mode.includes('markers')) complete = draftMarkers(group, list.filter(Boolean));
  if (trace.fill && trace.fill !== 'none') complete = draftFill(group, trace, list.filter(Boolean), axes) && complete;
  return complete;
}

function draftMarkers(group, list) {
  const marks = group.querySelectorAll('.points > path.point');
  if (marks.length !== list.length || marks.length > 200) return false;
  marks.forEach((mark, i) => mark.setAttribute('transform', `translate(${r1(list[i][0])},${r1(list[i][1])})`));
  return true;
}

function draftFill(group, trace, list, axes) {
  const area = group.querySelector('.fills path.js-fill');
  if (!area || trace.fill !== 'tozeroy' || !list.length) return false;
  const base = axes.y.type === 'log' ? axes.y._length : scale(axes.y)(0);
  const ends = [[list[list.length - 1][0], base], [list[0][0], base]];
  area.setAttribute('d', `${path(stepped(list, trace.line?.shape))}L${ends.map((p) => p.map(r1).join(',')).join('L')}Z`);
  return true;
}
