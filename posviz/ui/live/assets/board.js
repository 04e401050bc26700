// The live board's entry: Streamlit calls the default export with every packet, in the same
// element. State lives in a WeakMap by that element; the returned function runs when it goes.

import { Controls } from './controls.js';
import { el, sample, saveText, setText, withCommand } from './dom.js';
import { readHeader, revive } from './packet.js';
import { Panel } from './panel.js';
import { Requests } from './requests.js';
import { Settler } from './settle.js';
import { Texts, copyText } from './texts.js';
import { readTheme, resolve, watchTheme } from './theme.js';

const REST = 350; // ms without a change before Python is asked for what it left out
const ZOOMED = 150; // ms without a change of zoom before Python is asked for its points
const NO_ANSWER = 204; // the server knows of a newer question of this board

const boards = new WeakMap();
let plotly = null;

export default function live({ parentElement, data, setStateValue }) {
  let board = boards.get(parentElement);
  if (!board) boards.set(parentElement, (board = new Board(parentElement)));
  board.setState = setStateValue;
  if (data && data !== board.data) { board.data = data; board.receive(data); }
  return () => { board.close(); boards.delete(parentElement); };
}

// Tells the boards of a server apart; no secret. `randomUUID` is missing where a page comes over HTTP.
const randomName = () => [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

function loadPlotly() {
  plotly ??= new Promise((done, failed) => {
    const src = new URL('./plotly-cartesian.min.js', import.meta.url).href;
    document.head.append(el('script', { src, onload: () => done(window.Plotly), onerror: () => failed(new Error(`${src} did not load`)) }));
  });
  return plotly;
}

class Board {
  constructor(parent) {
    Object.assign(this, { parent, panels: new Map(), store: new Map(), ids: {}, values: {}, pinned: {}, hover: null, epoch: null, controlsKey: '', textsKey: '', asked: false, rest: false, zoomSaid: '{}', name: randomName() });
    this.build();
    this.theme = readTheme(this.root);
    this.unwatch = watchTheme(this.probe, () => this.retheme());
    this.controls = new Controls(this.items, (name, value) => this.set(name, value), (name) => this.togglePlay(name));
    this.texts = new Texts(this.textRoot);
    this.settler = new Settler(this);
    loadPlotly().then((Plotly) => { this.Plotly = Plotly; this.settler.first(); }, (error) => this.fail(error.message));
    this.hidden = () => { if (!document.hidden) this.step(); };
    document.addEventListener('visibilitychange', this.hidden);
  }

  build() {
    this.probe = el('i', { class: 'pv-probe', 'aria-hidden': 'true' });
    this.legend = el('ul', { class: 'pv-legend pv-shared' });
    this.dot = el('span', { class: 'pv-dot', role: 'status', 'aria-live': 'polite' });
    const share = el('button', { type: 'button', class: 'pv-button', text: 'Copy link', title: 'Copy an address that restores this view', onclick: () => copyText(this.link(), share) });
    const reset = el('button', { type: 'button', class: 'pv-button', text: 'Reset', title: 'Back to the start values', onclick: () => this.act('reset') });
    this.toolbar = el('div', { class: 'pv-toolbar', role: 'toolbar', 'aria-label': 'Page tools' }, this.legend, this.dot, reset, share);
    this.items = el('div', { class: 'pv-items' });
    this.column = el('details', { class: 'pv-controls' }, el('summary', { text: 'Controls' }), this.items);
    this.narrow = window.matchMedia('(max-width: 700px)');
    this.fold = () => { this.column.open = !this.narrow.matches; };
    this.fold();
    this.narrow.addEventListener('change', this.fold);
    this.problemList = el('div', { class: 'pv-problems', role: 'status' });
    this.grid = el('div', { class: 'pv-grid' });
    this.textRoot = el('div', { class: 'pv-textgrid' });
    const main = el('div', { class: 'pv-main' }, this.problemList, this.grid, this.textRoot);
    this.root = el('div', { class: 'pv-board' }, this.probe, this.toolbar, el('div', { class: 'pv-body' }, this.column, main));
    this.parent.append(this.root);
    this.clear = () => this.clearHeader();
    this.clear();
    window.addEventListener('resize', this.clear);
  }

  // What sticks to the top must stay below Streamlit's own header, which lies over the page when
  // it has something to show.
  clearHeader() {
    const header = document.querySelector('[data-testid="stHeader"]');
    this.root.style.setProperty('--pv-top', `${header?.childElementCount ? header.offsetHeight : 0}px`);
  }

  // --- Python → browser

  receive(data) {
    const packet = readHeader(data), { header } = packet;
    if (!this.requests) {
      this.requests = new Requests(header.stamp, () => this.request(), (r) => this.ask(r), (s) => this.state(s));
      this.state('idle');
      this.downloaded = header.stamp; // this board has asked for nothing yet
    } else if (!this.requests.answered(header.stamp, header.epoch !== this.epoch)) return;
    this.display = Boolean(header.display);
    this.root.classList.toggle('pv-display', this.display);
    // Any long text of the header may have come as a reference to one that is held here already.
    let lacking = 0;
    for (const name of ['values', 'problems', 'legend', 'direct', 'autos', 'address'])
      if (name in header) { const [value, absent] = this.part(name, header[name], packet); header[name] = value; lacking += absent; }
    const missing = lacking + this.takeControls(header, packet) + this.takeTexts(header, packet) + this.takePanels(header, packet);
    this.takeValues(header);
    this.controls.autos(header.autos);
    this.showProblems(this.controls.problems(header.problems || []));
    if (header.legend) this.showLegend(header.legend);
    if (header.direct) this.direct = header.direct;
    if (typeof header.address === 'string') this.address = header.address;
    if (header.download && header.stamp !== this.downloaded) {
      this.downloaded = header.stamp;
      const { name, mime, text } = revive(header.download, packet, this.store, { ids: new Set(), missing: 0 });
      saveText(name, mime, text);
    }
    this.forget();
    this.draw();
    this.pointAt(header.focus);
    this.recover(missing);
    this.requests.go();
    this.step();
    this.restLater(header.later);
    this.zoomed();
  }

  // While values move, Python may leave out what takes it long (texts, descriptions of controls)
  // and says so; once nothing has moved for a moment it is asked for the rest.
  restLater(later) {
    clearTimeout(this.resting);
    if (!later) return;
    this.resting = setTimeout(() => { if (!this.requests.flight) { this.rest = true; this.requests.change(); } }, REST);
  }

  part(name, node, packet) {
    const used = { ids: new Set(), missing: 0 };
    const value = revive(node, packet, this.store, used);
    if (!used.missing) this.ids[name] = used.ids;
    return [value, used.missing];
  }

  takeControls(header, packet) {
    if (!header.controls) return Number(header.controls_key !== this.controlsKey);
    const [groups, missing] = this.part('controls', header.controls, packet);
    if (missing) return missing;
    this.controlsKey = header.controls_key;
    this.controls.describe(groups);
    return 0;
  }

  takeTexts(header, packet) {
    if (!header.texts) return Number((header.texts_key ?? '') !== this.textsKey);
    const [texts, missing] = this.part('texts', header.texts, packet);
    if (missing) return missing;
    this.textsKey = header.texts_key ?? '';
    this.texts.show(texts);
    return 0;
  }

  takeValues(header) {
    const sent = header.values || {}, afresh = header.epoch !== this.epoch;
    if (afresh) {
      this.epoch = header.epoch;
      this.values = { ...sent };
      this.zoomSaid = JSON.stringify(header.zoom || {}); // what Python took over; here nothing is zoomed yet
      this.hover = null;
      this.requests.drop();
      this.fetching?.abort(); // it asks for values that are void
      this.stopPlay();
    } else {
      for (const name of Object.keys(this.values)) if (!(name in sent)) delete this.values[name];
      for (const name of Object.keys(sent)) if (!(name in this.values)) this.values[name] = sent[name];
    }
    this.controls.show(this.values, afresh);
  }

  takePanels(header, packet) {
    let missing = 0;
    const order = [];
    this.changed = [];
    for (const sent of header.panels || []) {
      let panel = this.panels.get(sent.id);
      order.push(sent.id);
      if (!('figure' in sent)) { if (panel?.key !== sent.key) missing++; continue; }
      const [whole, lacking] = this.part(`panel ${sent.id}`, sent, packet);
      if (lacking) { missing += lacking; continue; }
      if (this.display && panel?.key === sent.key) continue; // sent again, since nobody said what is held here
      if (!panel) { panel = new Panel(sent.id, this); this.panels.set(sent.id, panel); this.settler.watch(panel); }
      panel.update(whole);
      this.changed.push(panel);
    }
    for (const [id, panel] of this.panels) if (!order.includes(id)) this.drop(id, panel);
    const roots = order.map((id) => this.panels.get(id)?.root).filter(Boolean);
    if (roots.some((root, i) => this.grid.children[i] !== root)) this.grid.append(...roots);
    return missing;
  }

  drop(id, panel) {
    this.settler.unwatch(panel);
    if (panel.drawn) this.Plotly.purge(panel.plot);
    panel.root.remove();
    this.panels.delete(id);
    delete this.ids[`panel ${id}`];
  }

  // Keeps only what is still shown, so that the list of known ids stays short.
  forget() {
    const used = new Set(Object.values(this.ids).flatMap((ids) => [...ids]));
    for (const id of this.store.keys()) if (!used.has(id)) this.store.delete(id);
  }

  draw() {
    for (const panel of this.changed) panel.sketch();
    for (const panel of this.panels.values()) panel.showCursor();
    this.settler.after();
  }

  // Something was taken for held that is not: ask once for everything.
  recover(missing) {
    if (!missing) { this.asked = false; return; }
    if (this.asked) { this.fail('The reply lacks a part that this page does not have. Reload the page.'); return; }
    this.asked = true;
    this.requests.change();
  }

  // --- browser → Python

  request() {
    const all = this.asked, { rest } = this, zoom = this.zoom();
    this.rest = false;
    this.zoomSaid = JSON.stringify(zoom);
    return {
      rest,
      values: { ...this.values },
      ...(Object.keys(zoom).length ? { zoom } : {}),
      have: all ? {} : Object.fromEntries([...this.panels].map(([id, panel]) => [id, panel.key])),
      controls_key: all ? '' : this.controlsKey,
      texts_key: all ? '' : this.textsKey,
      known: all ? [] : [...this.store.keys()],
    };
  }

  // A moving number is asked for at the app's own route, which answers without running the page.
  // Everything else, and whatever is left at rest, goes through Streamlit; so does all of it where
  // there is no such route.
  ask(request) {
    const slow = this.slow || request.rest || request.action || !request.controls_key;
    this.slow = false;
    this.fetching?.abort(); // what is asked now replaces it
    if (slow || !this.direct) { this.setState('request', request); return; }
    const { path, question } = this.direct, { signal } = (this.fetching = new AbortController());
    const body = JSON.stringify({ ...request, ...question, epoch: this.epoch, board: this.name });
    fetch(new URL(`../../../${path}`, import.meta.url), { method: 'POST', body, signal })
      .then((answer) => { if (!answer.ok) throw new Error(answer.statusText); return answer.status === NO_ANSWER ? null : answer.arrayBuffer(); })
      .then((buffer) => { if (buffer && !signal.aborted) this.receive(new Uint8Array(buffer)); }, () => {
        if (signal.aborted) return;
        this.direct = null;
        this.setState('request', request);
      });
  }

  // The x ranges that a person chose, of the panels that have finer points for them.
  zoom() {
    const ranges = [...this.panels].map(([id, panel]) => [id, panel.zoomRange()]);
    return Object.fromEntries(ranges.filter(([, range]) => range));
  }

  zoomed() {
    clearTimeout(this.zoomTimer);
    if (!this.requests || JSON.stringify(this.zoom()) === this.zoomSaid) return;
    this.zoomTimer = setTimeout(() => { if (JSON.stringify(this.zoom()) !== this.zoomSaid) this.requests.change(); }, ZOOMED);
  }

  set(name, value) {
    this.values[name] = value;
    this.slow ||= !this.controls.isNumber(name);
    this.hover = null;
    this.moveCursor();
    this.requests.change();
  }

  // Several numbers at once, as if each had been moved by its own slider.
  setAll(values) {
    for (const [name, value] of Object.entries(values)) { this.values[name] = value; this.controls.showOne(name, value); }
    this.hover = null;
    this.moveCursor();
    this.requests.change();
  }

  act(action) { this.requests.act(action); }

  // --- cursor: moves here at once; Python hears of a pinned one a little later

  cursor(axis) {
    if (this.hover?.axis === axis) return this.hover.x;
    return axis in this.values ? this.values[axis] : this.pinned[axis];
  }

  cursors() {
    return Object.fromEntries(['pair', 'distance', ...Object.keys(this.values)].map((name) => [name, this.cursor(name)]));
  }

  point(axis, x, pin) {
    this.hover = { axis, x };
    if (pin) {
      this.pinned[axis] = x;
      if (axis in this.values && this.values[axis] !== x) {
        this.values[axis] = x;
        this.controls.showOne(axis, x);
        clearTimeout(this.pinning);
        this.pinning = setTimeout(() => this.requests.change(), 150);
      }
    }
    this.moveCursor();
  }

  unpoint() {
    this.hover = null;
    this.moveCursor();
  }

  moveCursor() {
    if (this.moving) return;
    this.moving = requestAnimationFrame(() => {
      this.moving = 0;
      for (const panel of this.panels.values()) panel.showCursor();
    });
  }

  // --- play: one step for every reply that has been drawn, so nothing queues

  togglePlay(name) {
    if (this.player === name) { this.stopPlay(); this.settler.after(); }
    else { this.player = name; this.controls.playing(name); this.step(); }
  }

  stopPlay() {
    this.player = null;
    this.controls.playing(null);
  }

  step() {
    if (!this.player || document.hidden || this.requests.flight || this.stepping) return;
    this.stepping = setTimeout(() => requestAnimationFrame(() => {
      this.stepping = 0;
      const next = this.player && this.controls.stepped(this.player);
      if (next === null || next === undefined) return;
      this.controls.showOne(this.player, next);
      this.hover = null;
      this.set(this.player, next);
    }), 30);
  }

  // The page points at a panel: once for each time that it does. At the first packet of a board
  // there is nothing new to point at.
  pointAt(focus) {
    const before = this.pointed;
    this.pointed = focus?.time ?? 0;
    if (before === undefined || !focus || focus.time === before) return;
    const panel = this.panels.get(focus.panel);
    if (!panel) return;
    panel.root.scrollIntoView({ behavior: 'smooth', block: 'center' });
    panel.root.classList.remove('pv-pointed');
    requestAnimationFrame(() => panel.root.classList.add('pv-pointed'));
  }

  // --- what is around the panels

  state(name) {
    this.root.dataset.state = name;
    if (name !== 'idle') this.settler.rest(false);
    setText(this.dot, name === 'late' ? 'waiting for the server…' : '');
  }

  showProblems(list) {
    const text = JSON.stringify(list);
    if (text === this.problemText) return;
    this.problemText = text;
    this.problemList.replaceChildren(...list.map((p) => el('p', { class: `pv-problem pv-${p.severity}` }, ...withCommand(p.text))));
  }

  fail(text) { this.problemText = null; this.problemList.append(el('p', { class: 'pv-problem pv-error', text })); }

  showLegend(list) {
    this.legendList = list;
    this.legend.replaceChildren(...list.map((item) =>
      el('li', { title: item.title || null }, sample(resolve(item, this.theme.dark).color, item.dash || 'solid', 'lines'), el('span', { class: 'pv-name', text: item.name }))));
  }

  link() {
    if (this.address === undefined) return window.location.href; // the page's own: this board has no values to restore
    const { origin, pathname } = window.location;
    return `${origin}${pathname}${this.address ? `?${this.address.replace(/^\?/, '')}` : ''}`;
  }

  writeAddress() {
    if (this.address !== undefined && this.link() !== window.location.href) window.history.replaceState(window.history.state, '', this.link());
  }

  retheme() {
    clearTimeout(this.retheming);
    this.settler.rest(false);
    this.retheming = setTimeout(() => {
      this.theme = readTheme(this.root);
      if (this.legendList) this.showLegend(this.legendList);
      for (const panel of this.panels.values()) { panel.legendText = null; panel.legendRows(); panel.showMap(); panel.stale = true; }
      this.settler.now();
    }, 30);
  }

  close() {
    this.closed = true;
    this.requests?.close();
    this.fetching?.abort();
    clearTimeout(this.zoomTimer);
    window.removeEventListener('resize', this.clear);
    this.unwatch();
    this.settler.close();
    this.stopPlay();
    clearTimeout(this.pinning);
    clearTimeout(this.resting);
    document.removeEventListener('visibilitychange', this.hidden);
    this.narrow.removeEventListener('change', this.fold);
    for (const panel of this.panels.values()) if (panel.drawn) this.Plotly.purge(panel.plot);
    this.root.remove();
  }
}
