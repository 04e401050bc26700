// One panel: title, plot, values at the cursor, formula, export. Plotly draws it once and again
// when the values rest; in between `draft` moves its lines and a map is painted anew.

import { el, sample, saveUrl, setText, svg } from './dom.js';
import { axisOf, draft, scale, xs } from './draft.js';
import { Formula } from './formula.js';
import { HeatMap, colourBar, edges, mapOf, mapsOf, withoutMap } from './heat.js';
import { shown } from './numbers.js';
import { Pad } from './pad.js';
import { resolve, themedLayout } from './theme.js';

// A picture is drawn outside the page, where the page's own fonts are not at hand.
const EXPORT_FONT = 'Arial, Helvetica, sans-serif';
const CONFIG = { displayModeBar: false, responsive: false, doubleClick: false, showTips: false };

export class Panel {
  constructor(id, board) {
    Object.assign(this, { id, board, key: '', rev: 0, drawn: false, stale: false, visible: true, zooming: false, x: null, kept: new Set() });
    this.title = el('h2', { class: 'pv-title' });
    this.subtitle = el('p', { class: 'pv-subtitle' });
    this.notes = el('ul', { class: 'pv-notes' });
    this.legend = el('ul', { class: 'pv-legend' });
    this.plot = el('div', { class: 'pv-plot' });
    this.overlay = svg('svg', { class: 'pv-overlay', 'aria-hidden': 'true' });
    this.hit = el('div', { class: 'pv-hit' });
    this.map = new HeatMap(() => { this.place(); this.root.dataset.rev = ++this.rev; }, (error) => this.refuse(error));
    this.readout = el('li', { class: 'pv-readout' });
    this.stage = el('div', { class: 'pv-stage' }, this.map.root, this.plot, this.overlay, this.hit);
    this.failure = el('p', { class: 'pv-problem pv-error', hidden: true });
    this.formula = new Formula();
    this.help = el('p');
    this.limits = el('p');
    this.more = el('details', { class: 'pv-more' }, el('summary', { text: 'How to read this · what it does not show' }), this.help, this.limits);
    this.zoomButton = this.button('Zoom', 'Drag on the plot to zoom; press again to move the cursor or the point', () => this.setZooming(!this.zooming));
    this.zoomButton.setAttribute('aria-pressed', 'false');
    this.resetButton = this.button('Reset zoom', 'Show the whole range again', () => this.resetZoom());
    this.resetButton.hidden = true;
    const tools = el('div', { class: 'pv-tools' }, this.resetButton, this.zoomButton,
      this.button('PNG', 'Save as PNG', () => this.export('png')),
      this.button('SVG', 'Save as SVG', () => this.export('svg')),
      this.button('CSV', 'Save the numbers as CSV', () => board.act({ csv: this.id })));
    this.root = el('figure', { class: 'pv-panel', 'data-panel': id, 'data-rev': 0 },
      el('header', {}, el('div', { class: 'pv-heads' }, this.title, this.subtitle), tools), this.notes, this.failure, this.stage, this.legend, this.formula.root, this.more);
    this.listen();
  }

  button(text, title, action) {
    return el('button', { type: 'button', class: 'pv-small', title, text, onclick: action });
  }

  // Takes over what Python sent. The picture follows through `sketch` and `settle`.
  update(sent) {
    this.key = sent.key;
    this.sent = sent;
    this.traces = sent.figure?.data || [];
    setText(this.title, sent.title || '');
    setText(this.subtitle, sent.subtitle || '');
    this.subtitle.hidden = !sent.subtitle;
    const label = [sent.title, sent.subtitle, ...(sent.notes || [])].filter(Boolean).join('. ');
    if (this.root.getAttribute('aria-label') !== label) this.root.setAttribute('aria-label', label);
    this.root.classList.toggle('pv-wide', sent.span === 2);
    const notes = sent.notes || [];
    if (this.notes.childElementCount !== notes.length) this.notes.replaceChildren(...notes.map(() => el('li')));
    notes.forEach((text, i) => setText(this.notes.children[i], text));
    this.notes.hidden = !notes.length;
    setText(this.help, sent.help || '');
    setText(this.limits, sent.limits ? `What it does not show: ${sent.limits}` : '');
    this.more.hidden = !sent.help && !sent.limits;
    this.formula.describe(sent.formula);
    const height = `${sent.figure?.layout?.height || 280}px`;
    if (this.stage.style.height !== height) this.stage.style.height = height;
    this.hit.hidden = !sent.cursor;
    this.zoomButton.hidden = !sent.cursor && !sent.pad;
    this.describeCursor();
    this.takePad(sent.pad);
    this.legendRows();
    this.showMap();
    this.stale = true;
  }

  // A point that moves two values, where the panel has one.
  takePad(sent) {
    if (sent && !this.pad) {
      this.pad = new Pad(this);
      this.stage.append(this.pad.handle);
      this.map.root.classList.add('pv-hatched');
      this.stage.after(this.pad.tools);
    }
    this.pad?.update(sent);
  }

  showMap() {
    this.map.show(mapOf(this.traces), this.board.theme.dark);
    if (!this.map.trace) setText(this.readout, '');
  }

  describeCursor() {
    const axis = this.sent.cursor;
    if (!axis || this.described === `${axis} ${this.sent.title}`) return;
    this.described = `${axis} ${this.sent.title}`;
    for (const [name, value] of Object.entries({ tabindex: '0', role: 'slider', 'aria-label': `${axis} cursor in ${this.sent.title}`, 'aria-orientation': 'horizontal' }))
      this.hit.setAttribute(name, value);
  }

  named() {
    return this.traces.map((trace, index) => ({ trace, index })).filter(({ trace }) => trace.name && trace.showlegend !== false && trace.type !== 'heatmap');
  }

  legendRows() {
    const { dark } = this.board.theme;
    const rows = this.named().map(({ trace, index }) => {
      const line = resolve(trace.line || {}, dark), marker = resolve(trace.marker || {}, dark);
      const kind = trace.type === 'bar' ? 'bar' : (trace.mode || 'lines').includes('lines') ? 'lines' : 'markers';
      const color = kind === 'lines' ? line.color : typeof marker.color === 'string' ? marker.color : line.color;
      return { index, name: trace.name, color: color || 'currentColor', dash: line.dash || 'solid', kind, look: { opacity: trace.opacity ?? 1, width: kind === 'lines' ? line.width ?? 2 : 2 } };
    });
    const map = mapOf(this.traces), text = JSON.stringify([rows, map && [map.zmin, map.zmax, map.colorscale, dark]]);
    if (text === this.legendText) return;
    this.legendText = text;
    this.rows = rows.map((row) => ({ ...row, value: el('span', { class: 'pv-value' }) }));
    this.legend.replaceChildren(...this.rows.map((row) =>
      el('li', {}, sample(row.color, row.dash, row.kind, row.look), el('span', { class: 'pv-name', text: row.name }), row.value)));
    if (map) this.legend.append(colourBar(map, dark), this.readout);
    this.legend.hidden = !this.legend.childElementCount;
  }

  // The draft: true when the picture is complete without Plotly.
  sketch() {
    this.pad?.moveTrace();
    if (!this.drawn) return;
    let complete = false;
    try {
      complete = draft(this.plot, this.traces, this.sent.figure?.layout);
    } catch (error) {
      console.error(error); // Plotly draws it instead, or says why not
    }
    this.needsPlotly = !complete || this.sent.figure?.layout?.shapes?.length > 0 || this.traces.some((t) => t.type === 'bar');
    if (!this.map.trace) this.root.dataset.rev = ++this.rev; // a map counts when it is painted
  }

  figure() {
    const { theme, epoch } = this.board, sent = this.sent.figure || { data: [], layout: {} };
    const layout = themedLayout(sent.layout, theme, { uirevision: epoch, datarevision: ++this.rev, dragmode: (this.sent.cursor || this.sent.pad) && !this.zooming ? false : 'zoom' });
    if (this.sent.cursor) layout.hovermode = false;
    layout.height = this.stage.clientHeight;
    if (mapsOf(sent.data).length > 1) throw new Error('a panel can show one map');
    if (mapOf(sent.data)) mapLayout(layout, mapOf(sent.data));
    return { data: sent.data.map((trace) => resolve(withoutMap(trace), theme.dark)), layout };
  }

  // Lets Plotly draw the figure as it now is, with the user's zoom kept.
  settle() {
    this.stale = false;
    this.needsPlotly = false;
    try {
      this.plotly();
      this.failure.hidden = true;
    } catch (error) {
      this.refuse(error);
    }
    this.root.dataset.rev = ++this.rev;
    this.place();
    this.showCursor();
  }

  refuse(error) {
    console.error(error);
    setText(this.failure, `This panel could not be drawn: ${error.message}`);
    this.failure.hidden = false;
  }

  plotly() {
    const { Plotly } = this.board, first = !this.drawn, { data, layout } = this.figure();
    this.drawn = true;
    this.keepZoom(layout);
    if (!first) { Plotly.react(this.plot, data, layout, CONFIG); return; }
    Plotly.newPlot(this.plot, data, layout, CONFIG);
    this.plot.on('plotly_relayout', (change) => this.zoomed(change));
    this.plot.on('plotly_doubleclick', () => this.resetZoom());
    this.plot.on('plotly_relayouting', () => this.map.place(this.plot._fullLayout));
  }

  resize() {
    if (!this.drawn || !this.plot.clientWidth) return;
    this.board.Plotly.relayout(this.plot, { width: this.plot.clientWidth, height: this.stage.clientHeight });
    this.place();
    this.showCursor();
  }

  place() {
    const size = this.plot._fullLayout?._size;
    if (!size) return;
    this.map.place(this.plot._fullLayout);
    this.pad?.place();
    const box = `left:${size.l}px;top:${size.t}px;width:${size.w}px;height:${size.h}px`;
    if (this.box !== box) { this.box = box; this.hit.style.cssText = box; this.overlay.style.cssText = box; this.hit.hidden = !this.sent.cursor; }
    this.hit.classList.toggle('pv-through', this.zooming);
  }

  axes() { return Object.keys(this.plot._fullLayout || {}).filter((name) => /^[xy]axis\d*$/.test(name)); }

  // The range that an axis shows without a zoom, where it is given.
  whole(name) {
    const range = this.sent.figure?.layout?.[name]?.range, map = mapOf(this.traces), letter = name[0];
    return range || (map && (map[`${letter}axis`] || letter) === name.replace('axis', '') ? edges(map[letter]) : undefined);
  }

  // Hears of every relayout; a person's own names the two ends of a range one by one. Axes that
  // match another one have its range.
  zoomed(change) {
    const full = this.plot._fullLayout, names = this.axes(), first = (name) => (full[name].matches ? axisName(full[name].matches) : name);
    const chosen = new Set(names.filter((name) => `${name}.range[0]` in change).map(first));
    for (const name of names) {
      if (chosen.has(first(name))) this.kept.add(name);
      if (`${name}.autorange` in change || String(this.whole(name)) === String(full[name].range)) this.kept.delete(name);
    }
    this.afterZoom();
    this.place();
    this.showCursor();
  }

  afterZoom() {
    this.resetButton.hidden = !this.kept.size;
    this.board.zoomed();
  }

  // The x values between which a person looks, where there are finer points to ask for: numbers of
  // the data, also on a log axis.
  zoomRange() {
    const axis = this.plot._fullLayout?.xaxis;
    if (!this.sent.zooms || !axis || !this.kept.has('xaxis') || this.zoomEpoch !== this.board.epoch) return null;
    const ends = axis.range.map((end) => (axis.type === 'log' ? 10 ** end : Number(end))).sort((a, b) => a - b);
    return ends.every(Number.isFinite) && ends[0] < ends[1] ? ends : null;
  }

  // A range that a person chose stays, also where the new figure has another one of its own.
  keepZoom(layout) {
    if (this.zoomEpoch !== this.board.epoch) this.kept.clear();
    this.zoomEpoch = this.board.epoch;
    const full = this.plot._fullLayout;
    for (const name of this.kept) if (full?.[name] && layout[name]) layout[name].range = [...full[name].range];
    this.afterZoom();
  }

  resetZoom() {
    this.kept.clear();
    const change = {};
    for (const name of this.axes()) {
      const range = this.whole(name);
      if (range) change[`${name}.range`] = [...range]; else change[`${name}.autorange`] = true;
    }
    this.board.Plotly.relayout(this.plot, change);
    this.afterZoom();
  }

  setZooming(on) {
    this.zooming = on;
    this.zoomButton.setAttribute('aria-pressed', String(on));
    this.board.Plotly.relayout(this.plot, { dragmode: on ? 'zoom' : false });
    this.place();
  }

  // --- cursor

  // The x values a cursor steps through: those of the longest named trace.
  stops() {
    let best = [];
    for (const { trace } of this.named()) {
      const x = this.underCursor(trace) ? xs(trace) : [];
      if (x.length > best.length) best = x;
    }
    return best;
  }

  // Small multiples share the cursor where their x axes match the first one.
  shares(axis) { return Boolean(axis) && (axis._name === 'xaxis' || axis.matches === 'x'); }

  underCursor(trace) {
    const reference = trace.xaxis || 'x';
    return reference === 'x' || this.sent.figure?.layout?.[axisName(reference)]?.matches === 'x';
  }

  // The boxes with axes of their own, within the box of the overlay: one, or several in small
  // multiples. Axes that lie over each other have one box.
  boxes() {
    const full = this.plot._fullLayout, size = full?._size, found = new Map();
    for (const { xaxis: x, yaxis: y } of Object.values(full?._plots || {})) {
      if (!x?._length || !y?._length) continue;
      const box = { x, left: x._offset - size.l, top: y._offset - size.t, width: x._length, height: y._length };
      const place = [box.left, box.top, box.width, box.height].join();
      if (!found.has(place)) found.set(place, box);
    }
    return [...found.values()];
  }

  listen() {
    let held = null; // the box in which the pointer was pressed
    const at = (event) => {
      const stops = this.stops(), { left, top } = this.hit.getBoundingClientRect(), px = event.clientX - left, py = event.clientY - top;
      const box = (pressed && held) || closest(this.boxes(), px, py);
      if (!box || !this.shares(box.x) || !stops.length) return null;
      held = box;
      const [from, to] = box.x.range, raw = from + ((px - box.left) / box.width) * (to - from);
      return stops[nearest(stops, box.x.type === 'log' ? 10 ** raw : raw)];
    };
    let pressed = false;
    const point = (event, pin) => { const x = at(event); if (x !== null) this.board.point(this.sent.cursor, x, pin); };
    this.hit.addEventListener('pointerdown', (e) => { if (e.button) return; held = null; pressed = true; this.hit.setPointerCapture(e.pointerId); point(e, true); });
    this.hit.addEventListener('pointermove', (e) => point(e, pressed));
    for (const type of ['pointerup', 'pointercancel']) this.hit.addEventListener(type, () => { pressed = false; });
    this.hit.addEventListener('pointerleave', () => { if (!pressed) this.board.unpoint(); });
    this.stage.addEventListener('pointermove', (e) => this.readMap(e));
    this.stage.addEventListener('pointerdown', (e) => this.readMap(e));
    this.stage.addEventListener('pointerleave', () => this.readMap(null));
    this.hit.addEventListener('keydown', (e) => {
      const stops = this.stops();
      if (!stops.length) return;
      const here = nearest(stops, Number(this.board.cursor(this.sent.cursor) ?? stops[0])), jump = e.shiftKey ? 10 : 1;
      const to = { ArrowLeft: here - jump, ArrowDown: here - jump, ArrowRight: here + jump, ArrowUp: here + jump, PageDown: here - 10, PageUp: here + 10, Home: 0, End: stops.length - 1 }[e.key];
      if (to === undefined) return;
      e.preventDefault();
      this.board.point(this.sent.cursor, stops[Math.max(0, Math.min(stops.length - 1, to))], true);
    });
  }

  // Where no cursor is, a map tells the cell under the pointer; while the pointer moves a point, the
  // numbers of the point, which lies between the middles of cells.
  readMap(event) {
    if (!this.map.trace || this.sent.cursor) return;
    const full = this.plot._fullLayout, cell = event && !this.pad?.held ? this.map.read(event, full) : '';
    const told = event && this.pad?.held ? this.map.readAt(...this.pad.point, full) : cell && this.pad ? `cell around ${cell}` : cell;
    setText(this.readout, told);
  }

  showCursor() {
    const axis = this.sent.cursor, x = axis ? this.board.cursor(axis) : null;
    this.formula.fill(this.board.cursors());
    this.pad?.place();
    const stops = axis ? this.stops() : [];
    if (stops.length) for (const [name, value] of Object.entries({ min: stops[0], max: stops[stops.length - 1], now: x ?? stops[0] })) this.hit.setAttribute(`aria-value${name}`, value);
    if (typeof x !== 'number') { this.overlay.replaceChildren(); this.rows?.forEach((row) => setText(row.value, '')); return; }
    const values = this.rows.map((row) => {
      const trace = this.traces[row.index], list = this.underCursor(trace) ? xs(trace) : [], i = nearest(list, x);
      // A line that ends before the cursor, while another goes on, has no value there.
      const ended = i === list.length - 1 && x > list[i] && stops[stops.length - 1] > list[i];
      const y = i < 0 || ended ? NaN : trace.y[i];
      setText(row.value, i < 0 ? '' : shown(y));
      return { row, x: list[i], y, trace };
    });
    this.hit.setAttribute('aria-valuetext', `${axis} ${shown(x)}; ${values.filter((v) => v.x !== undefined).map((v) => `${v.row.name} ${shown(v.y)}`).join(', ')}`);
    this.mark(x, values);
  }

  // The vertical line in every box that shares the cursor, and a ring on every trace.
  mark(x, values) {
    const full = this.plot._fullLayout, parts = [];
    if (!full?.xaxis?._length) return;
    const inside = (axis, px) => Number.isFinite(px) && px >= -1 && px <= axis._length + 1;
    for (const box of this.boxes().filter((b) => this.shares(b.x))) {
      const px = scale(box.x)(x);
      if (inside(box.x, px)) parts.push(svg('line', { class: 'pv-line', x1: box.left + px, x2: box.left + px, y1: box.top, y2: box.top + box.height }));
    }
    for (const v of values) {
      const across = axisOf(full, v.trace.xaxis, 'x'), up = axisOf(full, v.trace.yaxis, 'y');
      const px = across?._length ? scale(across)(x) : NaN, py = up?._length ? scale(up)(v.y) : NaN;
      if (v.row.kind !== 'bar' && inside(across, px) && Number.isFinite(py) && py >= 0 && py <= up._length)
        parts.push(svg('circle', { class: 'pv-ring', cx: across._offset - full._size.l + px, cy: up._offset - full._size.t + py, r: 3.5, stroke: v.row.color }));
    }
    this.overlay.replaceChildren(...parts);
  }

  async export(format) {
    const { data, layout } = this.figure(), { theme, Plotly } = this.board;
    const full = this.plot._fullLayout;
    for (const name of this.axes()) if (layout[name]) layout[name].range = [...full[name].range];
    const height = Math.max(520, this.stage.clientHeight + 140); // small multiples keep their size
    Object.assign(layout, { paper_bgcolor: theme.background, showlegend: true, legend: { orientation: 'h', y: -0.22 }, font: { ...layout.font, family: EXPORT_FONT }, width: 900, height, autosize: false,
      title: { text: this.sent.title, x: 0.02, subtitle: { text: cut([this.sent.subtitle, ...(this.sent.notes || [])].filter(Boolean).join(' · ')) } },
      margin: { ...layout.margin, t: 70, b: 110 } });
    // A picture that leaves the page says where it comes from: the address restores the view.
    layout.annotations = [...(layout.annotations || []), { text: cut(this.board.link()), xref: 'paper', yref: 'paper', x: 1, y: 0, yshift: -104, xanchor: 'right', yanchor: 'bottom', showarrow: false, font: { size: 9 } }];
    this.map.export({ data, layout }, full, theme.dark, this.traces.indexOf(this.map.trace));
    const url = await Plotly.toImage({ data, layout }, { format, width: 900, height, scale: format === 'png' ? 2 : 1 });
    saveUrl(`${this.id}.${format}`, url);
  }
}

const cut = (text) => (text.length > 150 ? `${text.slice(0, 149)}…` : text);

// "x2" is the axis that a layout calls "xaxis2".
const axisName = (reference) => `${reference[0]}axis${reference.slice(1)}`;

// The box around a point, or else the one that is least far away.
function closest(boxes, px, py) {
  const away = (b) => Math.hypot(Math.max(b.left - px, 0, px - b.left - b.width), Math.max(b.top - py, 0, py - b.top - b.height));
  return boxes.reduce((best, box) => (best && away(best) <= away(box) ? best : box), null);
}

// The map covers the grid; without a range given the axes end where the map does.
function mapLayout(layout, trace) {
  for (const letter of ['x', 'y']) {
    const name = axisName(trace[`${letter}axis`] || letter), axis = layout[name] || {};
    if (axis.type && axis.type !== 'linear' && !(axis.type === 'log' && axis.range)) throw new Error('a map needs linear axes, or log axes with their range');
    layout[name] = { ...axis, type: axis.type || 'linear', range: axis.range || edges(trace[letter]), showgrid: false, zeroline: false };
  }
}

export function nearest(list, x) {
  const sorted = list.length < 2 || list[list.length - 1] >= list[0];
  if (!sorted || list.length < 16) {
    let best = -1, gap = Infinity;
    for (let i = 0; i < list.length; i++) { const d = Math.abs(list[i] - x); if (d < gap) { gap = d; best = i; } }
    return best;
  }
  let low = 0, high = list.length - 1;
  while (high - low > 1) { const mid = (low + high) >> 1; if (list[mid] <= x) low = mid; else high = mid; }
  return Math.abs(list[low] - x) <= Math.abs(list[high] - x) ? low : high;
}
