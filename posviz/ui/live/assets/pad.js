// A point on a map that a person drags, or moves with the arrow keys: it sets two values at once,
// as two sliders would. The picture of the point is a trace of the figure; here is what takes hold
// of it.

import { el } from './dom.js';
import { axisOf, scale } from './draft.js';
import { shown } from './numbers.js';

const STAR = 9; // pixels around the proposal that count as a press on it

export class Pad {
  constructor(panel) {
    this.panel = panel;
    this.handle = el('div', { class: 'pv-handle', tabindex: '0', role: 'slider', 'aria-roledescription': '2-D slider', hidden: true });
    const take = panel.button('Take the proposal', 'Move the point to the proposal', () => this.propose());
    this.tools = el('div', { class: 'pv-padtools' }, take, el('span', { class: 'pv-name', text: 'or drag the point; arrow keys move it too' }));
    this.listen();
  }

  get board() { return this.panel.board; }

  get names() { return [this.sent.x, this.sent.y]; }

  get point() { return this.names.map((name) => this.board.values[name]); }

  update(sent) { this.sent = sent; }

  // A reply is always a little behind the hand: the point stands where the values are now.
  moveTrace() {
    const trace = this.panel.traces.find((one) => one.name === this.sent.trace);
    if (trace) [trace.x, trace.y] = this.point.map((value) => [value]);
  }

  axes() {
    const full = this.panel.plot._fullLayout;
    return full?._size ? [axisOf(full, 'x', 'x'), axisOf(full, 'y', 'y')] : [];
  }

  place() {
    const [x, y] = this.axes();
    if (!x?._length || !y?._length) return;
    const [px, py] = [scale(x)(this.point[0]), scale(y)(this.point[1])];
    const seen = px >= -1 && px <= x._length + 1 && py >= -1 && py <= y._length + 1;
    this.handle.hidden = !seen;
    if (!seen) return;
    this.handle.style.left = `${x._offset + px}px`;
    this.handle.style.top = `${y._offset + py}px`;
    const said = this.names.map((name, i) => `${name} ${shown(this.point[i])}`).join(', ');
    for (const [name, value] of Object.entries({ label: `point on ${this.panel.sent.title}`, valuetext: said, valuenow: this.point[0], valuemin: 10 ** x.range[0], valuemax: 10 ** x.range[1] }))
      this.handle.setAttribute(`aria-${name}`, value);
  }

  // The value of an axis at a place of the screen, as its own slider would give it.
  valueAt(axis, part, name) {
    const [from, to] = axis.range, raw = from + part * (to - from), value = axis.type === 'log' ? 10 ** raw : raw;
    const track = this.track(name);
    return track ? track.value(track.position(value)) : Number(value.toPrecision(3));
  }

  track(name) { return this.board.controls.items.get(name)?.track; }

  // A blank cell is a choice that cannot be: the point stays at the last one that can.
  move(values) {
    if (values.every((value, i) => value === this.point[i]) || this.panel.map.isBlank(...values, this.panel.plot._fullLayout)) return;
    this.set(values);
  }

  set(values) {
    const [x, y] = this.names;
    this.board.setAll({ [x]: values[0], [y]: values[1], ...this.sent.held });
    this.moveTrace();
    this.panel.sketch();
    this.place();
  }

  // Brings the point to the pointer; false where `inside` is asked for and it is not.
  follow(event, grip, inside = false) {
    const [x, y] = this.axes(), box = this.panel.stage.getBoundingClientRect();
    if (!x?._length || !y?._length) return false;
    const across = (event.clientX - grip[0] - box.left - x._offset) / x._length, down = (event.clientY - grip[1] - box.top - y._offset) / y._length;
    if (inside && (Math.min(across, down) < 0 || Math.max(across, down) > 1)) return false;
    this.move([this.valueAt(x, across, this.sent.x), this.valueAt(y, 1 - down, this.sent.y)]);
    return true;
  }

  isOnProposal(event) {
    const [x, y] = this.axes(), box = this.panel.stage.getBoundingClientRect();
    if (!x?._length || !y?._length) return false;
    const [px, py] = [scale(x)(this.sent.proposal[0]), scale(y)(this.sent.proposal[1])];
    return Math.hypot(event.clientX - box.left - x._offset - px, event.clientY - box.top - y._offset - py) < STAR;
  }

  propose() { this.set(this.sent.proposal); }

  listen() {
    const { handle } = this;
    const hold = (grip) => { this.held = grip; }; // where in the handle the pointer took hold of it
    hold(null);
    const middle = () => { const box = handle.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; };
    handle.addEventListener('pointerdown', (e) => {
      if (e.button) return;
      const [left, top] = middle();
      hold([e.clientX - left, e.clientY - top]);
      handle.setPointerCapture(e.pointerId);
    });
    handle.addEventListener('pointermove', (e) => { if (this.held) this.follow(e, this.held); });
    // A press beside the point brings it there. A finger that only wants to scroll must not.
    this.panel.stage.addEventListener('pointerdown', (e) => {
      if (e.button || e.target === handle || e.pointerType === 'touch' || this.panel.zooming) return;
      if (this.isOnProposal(e)) { this.propose(); return; }
      if (!this.follow(e, [0, 0], true)) return;
      hold([0, 0]);
      handle.setPointerCapture(e.pointerId);
      handle.focus({ preventScroll: true });
    });
    for (const type of ['pointerup', 'pointercancel', 'lostpointercapture']) handle.addEventListener(type, () => hold(null));
    handle.addEventListener('keydown', (e) => {
      const [along, way] = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, -1], ArrowUp: [1, 1] }[e.key] || [];
      const track = along === undefined ? null : this.track(this.names[along]);
      if (!track) return;
      e.preventDefault();
      const values = this.point, k = track.position(values[along]) + way * (e.shiftKey ? 10 : 1);
      values[along] = track.value(e.shiftKey ? k : track.next(k, way, values[along]));
      this.move(values);
    });
  }
}
