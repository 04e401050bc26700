// A heat map as a canvas of one pixel per cell under Plotly's transparent axes. Python sends a byte
// for each cell (0 = blank, 1 … 255 = zmin … zmax), deflated; the colours are chosen here.

import { el } from './dom.js';
import { shown } from './numbers.js';
import { resolve, rgb } from './theme.js';

const LEVELS = 254; // steps between the byte of zmin and that of zmax
const EXPORT_PIXELS = 1600; // an exported map is enlarged to about this, so that its cells stay sharp

const isMap = (trace) => trace.type === 'heatmap';

export const mapOf = (traces) => traces.find(isMap);

export const mapsOf = (traces) => traces.filter(isMap);

// What Plotly draws in the map's place: its axes only.
export const withoutMap = (trace) =>
  (isMap(trace) ? { type: 'scatter', mode: 'markers', x: [], y: [], hoverinfo: 'skip', showlegend: false, xaxis: trace.xaxis, yaxis: trace.yaxis } : trace);

// The bytes of the cells, row by row; unpacked once.
function inflated(z) {
  z.cells ??= (async () => {
    const stream = new Blob([z.packed]).stream().pipeThrough(new DecompressionStream('deflate'));
    const cells = new Uint8Array(await new Response(stream).arrayBuffer());
    z.packed = null;
    if (cells.length !== z.rows * z.columns) throw new Error(`the map holds ${cells.length} cells, not ${z.rows} × ${z.columns}`);
    return cells;
  })();
  return z.cells;
}

const colours = (trace, dark) => trace.colorscale.map(([stop, color]) => [stop, resolve(color, dark)]);

// The colour of each byte as the pixel (little endian, so alpha comes first) that shows it.
function table(trace, dark) {
  const scale = colours(trace, dark).map(([stop, color]) => [stop, rgb(color)]), out = new Uint32Array(LEVELS + 2);
  let k = 0;
  for (let level = 0; level <= LEVELS; level++) {
    const at = level / LEVELS;
    while (k < scale.length - 2 && at > scale[k + 1][0]) k++;
    const [from, a] = scale[k], [to, b] = scale[k + 1], part = to > from ? (at - from) / (to - from) : 1;
    const [red, green, blue] = a.map((v, i) => Math.round(v + (b[i] - v) * part));
    out[level + 1] = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  }
  return out;
}

// Both outer edges of a row of evenly spaced cells, first cell first.
export function edges(middles) {
  const last = middles.length - 1, half = last ? (middles[last] - middles[0]) / last / 2 : 0.5;
  return [middles[0] - half, middles[last] + half];
}

// The middles as their axis counts them: on a log axis cells are even in their logarithms.
const along = (axis, middles) => (axis.type === 'log' ? Array.from(middles, Math.log10) : middles);

const axesOf = (full, trace) => ['x', 'y'].map((letter) => full?.[`${letter}axis${(trace[`${letter}axis`] || letter).slice(1)}`]);

export class HeatMap {
  // `drawn()` is called after each painting, `failed(error)` when there can be none.
  constructor(drawn, failed) {
    Object.assign(this, { drawn, failed, trace: null, painted: null, table: null });
    this.canvas = el('canvas', { class: 'pv-cells', 'aria-hidden': 'true' });
    this.root = el('div', { class: 'pv-map', hidden: true }, this.canvas);
    this.context = this.canvas.getContext('2d');
  }

  // Takes over a trace, or nothing. The picture before it stays until the new cells are unpacked,
  // and a map that was overtaken meanwhile is not painted.
  async show(trace, dark) {
    this.trace = trace || null;
    this.root.hidden = !trace;
    if (!trace) { this.painted = null; return; }
    const key = JSON.stringify([trace.zmin, trace.zmax, colours(trace, dark)]), { painted } = this;
    if (painted?.trace.z === trace.z && painted.key === key) { painted.trace = trace; return; }
    try {
      const cells = await inflated(trace.z);
      if (this.trace !== trace) return;
      if (this.table?.key !== key) this.table = { key, pixels: table(trace, dark) };
      this.paint(trace.z, cells, this.table.pixels);
      this.painted = { trace, cells, key };
      this.drawn();
    } catch (error) {
      this.failed(error);
    }
  }

  paint({ rows, columns }, cells, lookup) {
    const { canvas } = this;
    if (canvas.width !== columns || canvas.height !== rows) { canvas.width = columns; canvas.height = rows; }
    const image = this.context.createImageData(columns, rows), pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < cells.length; i++) pixels[i] = lookup[cells[i]];
    this.context.putImageData(image, 0, 0);
  }

  // Lays the canvas where the axes have its edges; the axes' own box cuts off the rest.
  place(full) {
    if (!this.painted) return;
    const { trace } = this.painted, [x, y] = axesOf(full, trace);
    if (!x?._length || !y?._length) return;
    const [left, right] = edges(along(x, trace.x)).map((v) => ((v - x.range[0]) / (x.range[1] - x.range[0])) * x._length);
    const [first, last] = edges(along(y, trace.y)).map((v) => (1 - (v - y.range[0]) / (y.range[1] - y.range[0])) * y._length);
    const width = Math.abs(right - left), height = Math.abs(last - first);
    this.root.style.cssText = `left:${x._offset}px;top:${y._offset}px;width:${x._length}px;height:${y._length}px`;
    this.canvas.style.cssText = `left:${Math.min(left, right)}px;top:${Math.min(first, last)}px;width:${width}px;height:${height}px;`
      + `transform:scale(${right < left ? -1 : 1},${last < first ? -1 : 1})`;
    // Cells smaller than a pixel are averaged by the browser; picking some of them would make patterns.
    const dense = width * devicePixelRatio < trace.z.columns || height * devicePixelRatio < trace.z.rows;
    this.canvas.classList.toggle('pv-dense', dense);
  }

  // The cell under a point of the screen in words, or '' outside the map.
  read(event, full) {
    if (!this.painted) return '';
    const { trace, cells } = this.painted, [x, y] = axesOf(full, trace);
    if (!x?._length || !y?._length) return '';
    const box = this.root.getBoundingClientRect();
    const px = (event.clientX - box.left) / x._length, py = (event.clientY - box.top) / y._length;
    if (px < 0 || px > 1 || py < 0 || py > 1) return '';
    const column = cellAt(along(x, trace.x), x.range[0] + px * (x.range[1] - x.range[0]));
    const row = cellAt(along(y, trace.y), y.range[1] + py * (y.range[0] - y.range[1]));
    if (row < 0 || column < 0) return '';
    return `${axisName(y, 'y')} ${whole(trace.y[row])}, ${axisName(x, 'x')} ${whole(trace.x[column])}, ${nameOf(trace)} ${value(trace, cells[row * trace.z.columns + column])}`;
  }

  // The cell that holds these numbers of the axes, told by the numbers themselves.
  readAt(across, up, full) {
    if (!this.painted) return '';
    const { trace, cells } = this.painted, [x, y] = axesOf(full, trace);
    const column = cellAt(along(x, trace.x), along(x, [across])[0]), row = cellAt(along(y, trace.y), along(y, [up])[0]);
    const told = row < 0 || column < 0 ? '' : `, ${nameOf(trace)} ${value(trace, cells[row * trace.z.columns + column])}`;
    return `point: ${axisName(y, 'y')} ${shown(up)}, ${axisName(x, 'x')} ${shown(across)}${told}`;
  }

  // Whether one of the cells whose middles lie around these numbers of the axes has no value. A rule
  // between the two numbers that holds at all four middles holds between them.
  isBlank(across, up, full) {
    if (!this.painted) return false;
    const { trace, cells } = this.painted, [x, y] = axesOf(full, trace);
    const columns = around(along(x, trace.x), along(x, [across])[0]), rows = around(along(y, trace.y), along(y, [up])[0]);
    return rows.some((row) => columns.some((column) => !cells[row * trace.z.columns + column]));
  }

  // The map for a picture file: an image on the axes, and a colour bar from a marker that nobody sees.
  export(figure, full, dark, index) {
    if (!this.painted) return;
    const { canvas, painted: { trace } } = this, [x, y] = axesOf(full, trace);
    const [across, down] = [along(x, trace.x), along(y, trace.y)].map(edges);
    const data = (axis, value) => (axis.type === 'log' ? 10 ** value : value);
    const flip = [across[1] > across[0] !== x.range[1] > x.range[0], down[1] > down[0] === y.range[1] > y.range[0]];
    const factor = Math.max(1, Math.ceil(EXPORT_PIXELS / Math.max(canvas.width, canvas.height)));
    const big = el('canvas', { width: canvas.width * factor, height: canvas.height * factor }), context = big.getContext('2d');
    context.imageSmoothingEnabled = false;
    context.translate(flip[0] ? big.width : 0, flip[1] ? big.height : 0);
    context.scale(flip[0] ? -1 : 1, flip[1] ? -1 : 1);
    context.drawImage(canvas, 0, 0, big.width, big.height);
    figure.layout.images = [...(figure.layout.images || []), {
      source: big.toDataURL(), xref: trace.xaxis || 'x', yref: trace.yaxis || 'y', sizing: 'stretch', layer: 'below',
      x: flip[0] ? across[1] : across[0], y: flip[1] ? down[1] : down[0], xanchor: 'left', yanchor: 'top',
      sizex: Math.abs(across[1] - across[0]), sizey: Math.abs(down[1] - down[0]),
    }];
    Object.assign(figure.data[index], { x: [data(x, across[0])], y: [data(y, down[0])], marker: { opacity: 0, color: [trace.zmin], cmin: trace.zmin, cmax: trace.zmax,
      colorscale: colours(trace, dark), showscale: true, colorbar: resolve({ thickness: 12, ...trace.colorbar }, dark) } });
    figure.layout.margin = { ...figure.layout.margin, r: 90 };
  }
}

export function nameOf(trace) {
  const { title } = trace.colorbar || {};
  return (typeof title === 'string' ? title : title?.text) || trace.name || 'value';
}

// The value of a byte, with as many decimals as it can tell.
function value({ zmin, zmax }, byte) {
  if (!byte) return '–';
  const step = (zmax - zmin) / LEVELS, digits = Math.min(20, Math.max(0, Math.ceil(-Math.log10(step || 1))));
  return `≈ ${shown(Number((zmin + (byte - 1) * step).toFixed(digits)))}`;
}

function cellAt(middles, value) {
  const [from, to] = edges(middles), at = Math.floor(((value - from) / (to - from)) * middles.length);
  return at >= 0 && at < middles.length ? at : -1;
}

// The two cells between whose middles a value lies; beyond the ends the last one twice.
function around(middles, value) {
  const last = middles.length - 1, at = last ? ((value - middles[0]) / (middles[last] - middles[0])) * last : 0;
  return [Math.floor, Math.ceil].map((whole) => Math.min(last, Math.max(0, whole(at))));
}

// Cells are often wider than one: their middle is told without a fraction that means nothing.
const whole = (value) => shown(Math.abs(value) >= 1000 ? Math.round(value) : value);

const axisName = (axis, fallback) => (axis.title?.text || fallback).replace(/\s*\(.*\)$/, '').replace(/ position$/, '');

// The colours with their smallest and largest value, and zero where it lies between.
export function colourBar(trace, dark) {
  const { zmin, zmax } = trace, zero = -zmin / (zmax - zmin);
  const stops = colours(trace, dark).map(([stop, color]) => `${color} ${stop * 100}%`).join(', ');
  const bar = el('span', { class: 'pv-bar' });
  bar.style.background = `linear-gradient(to right, ${stops})`;
  if (zero > 0 && zero < 1) {
    const mark = el('span', { class: 'pv-zero', text: '0' });
    mark.style.left = `${zero * 100}%`;
    bar.append(mark);
  }
  return el('li', { class: 'pv-scale' }, el('span', { class: 'pv-name', text: nameOf(trace) }), el('span', { text: short(zmin) }), bar, el('span', { text: short(zmax) }));
}

const short = (value) => shown(Number(value.toPrecision(3)));
