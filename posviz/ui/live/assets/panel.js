// One panel: title, plot, values at the cursor, formula, export. Plotly draws it once and again
// when the values rest; in between `draft` moves its lines and a map is painted anew.

import { el, sample, saveUrl, setText, svg } from './dom.js';
import { draft, scale, xs } from './draft.js';
import { Formula } from './formula.js';
import { HeatMap, colourBar, edges, mapOf, withoutMap } from './heat.js';
import { shown } from './numbers.js';
import { resolve, themedLayout } from './theme.js';

// A picture is drawn outside the page, where the page's own fonts are not at hand.
const EXPORT_FONT = 'Arial, Helvetica, sans-serif';
const CONFIG = { displayModeBar: false, responsive: false, doubleClick: 'reset', showTips: false };

export class Panel {
  constructor(id, board) {
    Object.assign(this, { id, board, key: '', rev: 0, drawn: false, stale: false, visible: true, zooming: false, x: null, kept: new Set() });
    this.title = el('h3', { class: 'pv-title' });
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
    this.zoomButton = this.button('Zoom', 'Drag on the plot to zoom; press again to move the cursor', () => this.setZooming(!this.zooming));
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
    this.zoomButton.hidden = !sent.cursor;
    this.describeCursor();
    this.legendRows();
    this.showMap();
    this.stale = true;
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
      return { index, name: trace.name, color: color || 'currentColor', dash: line.dash || 'solid', kind };
    });
    const map = mapOf(this.traces), text = JSON.stringify([rows, map && [map.zmin, map.zmax, map.colorscale, dark]]);
    if (text === this.legendText) return;
    this.legendText = text;
    this.rows = rows.map((row) => ({ ...row, value: el('span', { class: 'pv-value' }) }));
    this.legend.replaceChildren(...this.rows.map((row) =>
      el('li', {}, sample(row.color, row.dash, row.kind), el('span', { class: 'pv-name', text: row.name }), row.value)));
    if (map) this.legend.append(colourBar(map, dark), this.readout);
    this.legend.hidden = !this.legend.childElementCount;
  }

  // The draft: true when the picture is complete without Plotly.
  sketch() {
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
    const layout = themedLayout(sent.layout, theme, { uirevision: epoch, datarevision: ++this.rev, dragmode: this.sent.cursor && !this.zooming ? false : 'zoom' });
    if (this.sent.cursor) layout.hovermode = false;
    layout.height = this.stage.clientHeight;
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
    const box = `left:${size.l}px;top:${size.t}px;width:${size.w}px;height:${size.h}px`;
    if (this.box !== box) { this.box = box; this.hit.style.cssText = box; this.overlay.style.cssText = box; this.hit.hidden = !this.sent.cursor; }
    this.hit.classList.toggle('pv-through', this.zooming);
  }

  // Hears of every relayout; a person's own names the two ends of a range one by one.
  zoomed(change) {
    for (const name of ['xaxis', 'yaxis']) {
      if (`${name}.range[0]` in change) this.kept.add(name);
      const whole = this.sent.figure?.layout?.[name]?.range; // a double click shows it again
      if (`${name}.autorange` in change || String(whole) === String(this.plot._fullLayout[name]?.range)) this.kept.delete(name);
    }
    this.resetButton.hidden = !this.kept.size;
    this.place();
    this.showCursor();
  }

  // A range that a person chose stays, also where the new figure has another one of its own.
  keepZoom(layout) {
    if (this.zoomEpoch !== this.board.epoch) this.kept.clear();
    this.zoomEpoch = this.board.epoch;
    const full = this.plot._fullLayout;
    for (const name of this.kept) if (full?.[name] && layout[name]) layout[name].range = [...full[name].range];
    this.resetButton.hidden = !this.kept.size;
  }

  resetZoom() {
    this.kept.clear();
    const change = {};
    for (const name of ['xaxis', 'yaxis']) {
      const range = this.sent.figure?.layout?.[name]?.range;
      if (range) change[`${name}.range`] = [...range]; else change[`${name}.autorange`] = true;
    }
    this.board.Plotly.relayout(this.plot, change);
    this.resetButton.hidden = true;
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
    for (const { trace } of this.named()) { const x = xs(trace); if (x.length > best.length) best = x; }
    return best;
  }

  listen() {
    const at = (event) => {
      const axis = this.plot._fullLayout?.xaxis, stops = this.stops();
      if (!axis || !stops.length) return null;
      const part = (event.clientX - this.hit.getBoundingClientRect().left) / axis._length;
      const raw = axis.range[0] + part * (axis.range[1] - axis.range[0]);
      return stops[nearest(stops, axis.type === 'log' ? 10 ** raw : raw)];
    };
    let pressed = false;
    const point = (event, pin) => { const x = at(event); if (x !== null) this.board.point(this.sent.cursor, x, pin); };
    this.hit.addEventListener('pointerdown', (e) => { if (e.button) return; pressed = true; this.hit.setPointerCapture(e.pointerId); point(e, true); });
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

  // Where no cursor is, a map tells the cell under the pointer.
  readMap(event) {
    if (this.map.trace && !this.sent.cursor) setText(this.readout, event ? this.map.read(event, this.plot._fullLayout) : '');
  }

  showCursor() {
    const axis = this.sent.cursor, x = axis ? this.board.cursor(axis) : null;
    this.formula.fill(this.board.cursors());
    const stops = axis ? this.stops() : [];
    if (stops.length) for (const [name, value] of Object.entries({ min: stops[0], max: stops[stops.length - 1], now: x ?? stops[0] })) this.hit.setAttribute(`aria-value${name}`, value);
    if (typeof x !== 'number') { this.overlay.replaceChildren(); this.rows?.forEach((row) => setText(row.value, '')); return; }
    const values = this.rows.map((row) => {
      const trace = this.traces[row.index], list = xs(trace), i = nearest(list, x);
      const y = i < 0 ? NaN : trace.y[i];
      setText(row.value, i < 0 ? '' : shown(y));
      return { row, x: list[i], y, trace };
    });
    this.hit.setAttribute('aria-valuetext', `${axis} ${shown(x)}; ${values.map((v) => `${v.row.name} ${shown(v.y)}`).join(', ')}`);
    this.mark(x, values);
  }

  // The vertical line and a ring on every trace.
  mark(x, values) {
    const full = this.plot._fullLayout;
    if (!full?.xaxis?._length) return;
    const px = scale(full.xaxis)(x), parts = [];
    if (Number.isFinite(px) && px >= -1 && px <= full.xaxis._length + 1) {
      parts.push(svg('line', { class: 'pv-line', x1: px, x2: px, y1: 0, y2: full.xaxis._length ? full._size.h : 0 }));
      for (const v of values) {
        const ax = full[`yaxis${(v.trace.yaxis || 'y').slice(1)}`], py = ax ? scale(ax)(v.y) : NaN;
        if (v.row.kind !== 'bar' && Number.isFinite(py) && py >= 0 && py <= ax._length)
          parts.push(svg('circle', { class: 'pv-ring', cx: px, cy: py, r: 3.5, stroke: v.row.color }));
      }
    }
    this.overlay.replaceChildren(...parts);
  }

  async export(format) {
    const { data, layout } = this.figure(), { theme, Plotly } = this.board;
    const full = this.plot._fullLayout;
    for (const name of Object.keys(full)) if (/^[xy]axis\d*$/.test(name) && layout[name]) layout[name].range = [...full[name].range];
    Object.assign(layout, { paper_bgcolor: theme.background, showlegend: true, legend: { orientation: 'h', y: -0.22 }, font: { ...layout.font, family: EXPORT_FONT }, width: 900, height: 520, autosize: false,
      title: { text: this.sent.title, x: 0.02, subtitle: { text: cut([this.sent.subtitle, ...(this.sent.notes || [])].filter(Boolean).join(' · ')) } },
      margin: { ...layout.margin, t: 70, b: 110 } });
    // A picture that leaves the page says where it comes from: the address restores the view.
    layout.annotations = [...(layout.annotations || []), { text: cut(this.board.link()), xref: 'paper', yref: 'paper', x: 1, y: 0, yshift: -104, xanchor: 'right', yanchor: 'bottom', showarrow: false, font: { size: 9 } }];
    this.map.export({ data, layout }, full, theme.dark, this.traces.indexOf(this.map.trace));
    const url = await Plotly.toImage({ data, layout }, { format, width: 900, height: 520, scale: format === 'png' ? 2 : 1 });
    saveUrl(`${this.id}.${format}`, url);
  }
}

const cut = (text) => (text.length > 150 ? `${text.slice(0, 149)}…` : text);

// The map covers the grid; without a range given the axes end where the map does.
function mapLayout(layout, trace) {
  for (const letter of ['x', 'y']) {
    const name = `${letter}axis${(trace[`${letter}axis`] || letter).slice(1)}`, axis = layout[name] || {};
    if (axis.type && axis.type !== 'linear') throw new Error('a map needs linear axes');
    layout[name] = { ...axis, type: 'linear', range: axis.range || edges(trace[letter]), showgrid: false, zeroline: false };
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
