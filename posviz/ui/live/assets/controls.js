// The control column. Every control is described by Python; the browser adds nothing to it.

import { el, setText } from './dom.js';
import { Track, exact, objection, parseNumber, shown } from './numbers.js';

let counter = 0;

export class Controls {
  // `change(name, value)` reports what a person set; `play(name)` starts and stops.
  constructor(root, change, play) {
    Object.assign(this, { root, change, play, items: new Map(), values: {}, groups: new Map(), order: '' });
  }

  // True for what moves step by step: numbers, and the cursor even where it has no control.
  isNumber(name) {
    const item = this.items.get(name);
    return !item || item.control.kind === 'number';
  }

  // Takes over a new description; controls whose description is the same stay as they are.
  describe(groups) {
    const kept = new Map(), active = document.activeElement, titles = new Map();
    const bodies = groups.map((group) => {
      const twin = titles.get(group.title) || 0;
      titles.set(group.title, twin + 1);
      return this.group(group, `${group.title} ${twin}`, kept);
    });
    for (const name of this.items.keys()) if (!kept.has(name)) this.items.delete(name);
    const order = JSON.stringify(groups.map((g) => [g.title, (g.items || []).map((c) => c.name)]));
    if (order !== this.order || bodies.some((b) => !b.isConnected)) this.root.replaceChildren(...bodies);
    this.order = order;
    if (active !== document.activeElement && this.root.contains(active)) active.focus(); // moving a node drops its focus
  }

  group(group, key, kept) {
    let known = this.groups.get(key);
    if (!known) {
      const body = el('div', { class: 'pv-group-items' });
      const note = el('p', { class: 'pv-note' });
      const details = el('details', { class: 'pv-group', open: !group.collapsed }, el('summary', { text: group.title }), note, body);
      known = { details, body, note };
      this.groups.set(key, known);
    }
    setText(known.note, group.note || '');
    known.note.hidden = !group.note;
    const rows = (group.items || []).map((control) => this.item(control, kept).row);
    const same = rows.length === known.body.children.length && rows.every((r, i) => known.body.children[i] === r);
    if (!same) known.body.replaceChildren(...rows);
    return known.details;
  }

  item(control, kept) {
    const { auto, ...rest } = control, text = JSON.stringify(rest);
    const before = this.items.get(control.name);
    // A control that is being dragged is not taken away from under the hand.
    if (before && (before.text === text || before.row.querySelector('input[type="range"]:active'))) {
      before.auto?.(auto || '');
      kept.set(control.name, before);
      return before;
    }
    const item = build(control, (value) => this.set(control.name, value), () => this.play(control.name));
    const focus = before && focused(before.row);
    if (before) before.row.replaceWith(item.row);
    item.text = text;
    item.control = control;
    this.items.set(control.name, item);
    kept.set(control.name, item);
    if (control.name in this.values) item.show(this.values[control.name]);
    if (focus) item.row.querySelector(focus)?.focus();
    return item;
  }

  set(name, value) {
    this.values[name] = value;
    this.change(name, value);
  }

  // With `afresh`, typed text that could not be used goes too.
  show(values, afresh = false) {
    this.values = { ...values };
    for (const [name, item] of this.items) if (name in values) item.show(values[name], afresh);
  }

  showOne(name, value) {
    this.values[name] = value;
    this.items.get(name)?.show(value);
  }

  autos(texts) {
    for (const [name, text] of Object.entries(texts || {})) this.items.get(name)?.auto?.(text);
  }

  problems(list) {
    const texts = new Map();
    for (const p of list) if (p.control) texts.set(p.control, [...(texts.get(p.control) || []), p]);
    for (const [name, item] of this.items) item.problem(texts.get(name) || []);
    return list.filter((p) => !p.control || !this.items.has(p.control));
  }

  playing(name) {
    for (const [own, item] of this.items) item.playing?.(own === name);
  }

  // The value one step on, from the last back to the first.
  stepped(name) {
    const item = this.items.get(name);
    if (!item?.track) return null;
    const { track } = item, value = this.values[name], at = track.position(value);
    const k = at >= track.count ? 0 : track.next(at, 1, value);
    return track.value(k);
  }
}

function focused(row) {
  const active = row.contains(document.activeElement) && document.activeElement;
  return active ? `[data-part="${active.dataset.part}"]` : null;
}

function build(control, commit, play) {
  const make = { number, switch: toggle, choice, text: list }[control.kind];
  const item = make ? make(control, commit, play) : unknown(control);
  const help = control.help ? el('span', { class: 'pv-help', tabindex: '0', role: 'note', 'aria-label': control.help, 'data-tip': control.help, text: '?' }) : null;
  const message = el('p', { class: 'pv-message', role: 'status' });
  const problems = el('div', { class: 'pv-item-problems' });
  item.row = el('div', { class: `pv-item pv-${control.kind}`, 'data-control': control.name },
    el('div', { class: 'pv-item-head' }, el('label', { for: item.id, text: control.label }), help, ...(item.head || [])),
    ...item.body, message, problems);
  item.say = (text) => { setText(message, text); message.hidden = !text; };
  item.say('');
  item.problem = (all) => problems.replaceChildren(...all.map((p) => el('p', { class: `pv-problem pv-${p.severity}`, text: p.text })));
  return item;
}

function unknown(control) {
  return { id: null, show() {}, body: [el('p', { class: 'pv-problem pv-error', text: `There is no control of the kind “${control.kind}”.` })] };
}

function resetButton(control, commit, show) {
  if (control.default === undefined) return null;
  const text = control.default === null ? 'left out' : exact(control.default);
  return el('button', { type: 'button', class: 'pv-icon', 'data-part': 'reset', title: `Back to ${text}`, 'aria-label': `${control.label}: back to ${text}`,
    text: '↺', onclick: () => { show(control.default, true); commit(control.default); } });
}

function number(control, commit, play) {
  const id = `pv-c${++counter}`, item = { id };
  const track = control.slider ? new Track(control) : null;
  let value = control.default ?? null, last = typeof value === 'number' ? value : control.slider ? control.slider[0] : null;
  const range = track && el('input', { id: `${id}r`, type: 'range', min: 0, max: track.count, step: 1, 'aria-label': control.label, 'data-part': 'range' });
  const box = el('input', { id, type: 'text', inputmode: 'decimal', autocomplete: 'off', spellcheck: 'false', class: 'pv-box', 'data-part': 'box', 'aria-label': `${control.label}, exact value` });
  const auto = control.optional && el('input', { id: `${id}a`, type: 'checkbox', 'data-part': 'auto' });
  const autoText = control.optional && el('span', { class: 'pv-auto-text', text: control.auto || '' });

  const paint = (keepBox) => {
    const out = value === null;
    if (range) {
      const k = track.position(out ? last : value);
      if (Number(range.value) !== k) range.value = k;
      range.style.setProperty('--fill', `${(100 * k) / track.count}%`);
      range.setAttribute('aria-valuetext', `${out ? control.auto || 'left out' : shown(value)}${control.unit ? ' ' + control.unit : ''}`);
      range.disabled = Boolean(auto) && out;
    }
    if (auto) auto.checked = out;
    box.disabled = Boolean(auto) && out;
    box.placeholder = out ? 'auto' : '';
    if (!keepBox) { box.value = exact(value); box.removeAttribute('aria-invalid'); }
  };
  const take = (next) => { value = next; if (next !== null) last = next; item.say(''); paint(); commit(next); };
  if (range) range.addEventListener('input', () => {
    let k = Number(range.value);
    const now = track.position(value);
    if (track.value(k) === value && k !== now) k = track.next(k, k > now ? 1 : -1, value);
    if (track.value(k) !== value) take(track.value(k)); else paint();
  });
  const typed = () => {
    if (box.value === exact(value)) { box.removeAttribute('aria-invalid'); item.say(''); return; }
    const next = parseNumber(box.value), why = objection(control, next);
    if (why) {
      box.setAttribute('aria-invalid', 'true');
      item.say(`${control.label} ${why}; got ${box.value.trim() || 'nothing'}.`);
    } else take(next);
  };
  box.addEventListener('change', typed);
  box.addEventListener('keydown', (e) => { if (e.key === 'Enter') typed(); });
  if (auto) auto.addEventListener('change', () => take(auto.checked ? null : control.auto_value ?? last));

  const playButton = control.play && el('button', { type: 'button', class: 'pv-icon pv-play', 'data-part': 'play', 'aria-pressed': 'false', 'aria-label': `Play ${control.label}`, title: 'Play', text: '▶', onclick: play });
  if (playButton) item.playing = (on) => {
    playButton.setAttribute('aria-pressed', String(on));
    playButton.title = on ? 'Pause' : 'Play';
    setText(playButton, on ? '❚❚' : '▶');
  };
  const show = (next, afresh) => {
    if (!afresh && next === value && box.getAttribute('aria-invalid')) return; // what was typed stays
    value = next; if (typeof next === 'number') last = next; item.say(''); paint();
  };
  const unit = control.unit ? el('span', { class: 'pv-unit', text: control.unit }) : null;
  item.track = track;
  item.show = show;
  item.auto = (text) => { control.auto = text; if (autoText) setText(autoText, text); paint(true); };
  const slides = range || playButton, reset = resetButton(control, commit, show);
  item.head = [el('span', { class: 'pv-exact' }, box, unit, slides ? null : reset)];
  item.body = [
    slides ? el('div', { class: 'pv-slide' }, playButton || null, range, reset) : null,
    auto ? el('div', { class: 'pv-auto' }, auto, el('label', { for: `${id}a`, text: 'auto' }), autoText) : null,
  ].filter(Boolean);
  return item;
}

function toggle(control, commit) {
  const id = `pv-c${++counter}`;
  const input = el('input', { id, type: 'checkbox', role: 'switch', class: 'pv-toggle', 'data-part': 'switch', onchange: () => commit(input.checked) });
  return { id, head: [input], body: [], show: (value) => { input.checked = Boolean(value); } };
}

function choice(control, commit) {
  const id = `pv-c${++counter}`, byKey = new Map(control.choices.map((c) => [String(c.value), c.value]));
  const options = control.choices.map((c) => el('option', { value: String(c.value), text: c.label }));
  if (control.optional && !byKey.has('null')) { byKey.set('null', null); options.unshift(el('option', { value: 'null', text: control.auto || 'left out' })); }
  const select = el('select', { id, class: 'pv-select', 'data-part': 'choice', onchange: () => commit(byKey.get(select.value)) }, ...options);
  return { id, body: [select], show: (value) => { select.value = String(value); } };
}

function list(control, commit) {
  const id = `pv-c${++counter}`;
  let value = '';
  const box = el('textarea', { id, rows: 2, spellcheck: 'false', class: 'pv-list', 'data-part': 'list', placeholder: control.optional ? control.auto || 'left out' : '' });
  const typed = () => {
    const text = box.value.trim(), next = text === '' && control.optional ? null : text;
    if (next !== value) { value = next; commit(next); }
  };
  box.addEventListener('change', typed);
  box.addEventListener('keydown', (e) => { if (e.key === 'Enter' && !e.shiftKey) { e.preventDefault(); typed(); } });
  const show = (next) => { if (next === value) return; value = next; box.value = next ?? ''; };
  return { id, body: [box], head: [resetButton(control, commit, show)], show };
}
