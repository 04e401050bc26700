// A formula in MathML whose numbers follow the cursor: "@{name}" in its text is a slot. One that is
// wider than its panel scrolls in its own box, with the keyboard too.

import { el } from './dom.js';
import { shown } from './numbers.js';
import { nearest } from './panel.js';

const MATHML = 'http://www.w3.org/1998/Math/MathML';

export class Formula {
  constructor() {
    this.root = el('div', { class: 'pv-formula', role: 'group', 'aria-label': 'Formula' });
    this.sized = new ResizeObserver(() => {
      if (this.root.scrollWidth > this.root.clientWidth) this.root.tabIndex = 0; else this.root.removeAttribute('tabindex');
    });
    this.mathml = null;
    this.marks = [];
    this.slots = {};
  }

  describe(formula) {
    this.root.hidden = !formula;
    this.slots = formula?.slots || {};
    if (!formula || formula.mathml === this.mathml) return;
    this.mathml = formula.mathml;
    this.marks = [];
    const parsed = new DOMParser().parseFromString(formula.mathml, 'text/html');
    this.root.replaceChildren(...[...parsed.querySelectorAll('math')].map((math) => this.copy(math)));
    this.sized.disconnect();
    for (const node of [this.root, ...this.root.children]) this.sized.observe(node);
  }

  // Only MathML passes: no script, no link, no handler.
  copy(node) {
    const out = document.createElementNS(MATHML, node.localName);
    for (const { name, value } of node.attributes) if (!/^(on|href|xlink|xmlns|src|action)/i.test(name)) out.setAttribute(name, value);
    for (const child of node.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) out.append(...this.pieces(child.data));
      else if (child.namespaceURI === MATHML) out.append(this.copy(child));
    }
    return out;
  }

  pieces(text) {
    return text.split(/(@\{[^}]+\})/).filter(Boolean).map((piece) => {
      const node = document.createTextNode(piece);
      const slot = /^@\{(.+)\}$/.exec(piece);
      if (slot) this.marks.push({ name: slot[1], node });
      return node;
    });
  }

  fill(cursors) {
    for (const { name, node } of this.marks) {
      const text = value(this.slots[name], cursors);
      if (node.data !== text) node.data = text;
    }
  }
}

function value(slot, cursors) {
  if (!slot) return '?';
  if (slot.text !== undefined) return String(slot.text);
  if (!slot.values) return shown(cursors[slot.index]);
  const at = cursors[slot.index];
  if (typeof at !== 'number') return '–';
  const i = slot.x ? nearest(slot.x, at) : Math.round(at);
  return i >= 0 && i < slot.values.length ? shown(slot.values[i]) : '–';
}
