// Blocks of text to copy: settings for runtimes, code that reproduces the page.

import { el, saveText, setText } from './dom.js';

const ENDINGS = { json: 'json', python: 'py', bash: 'sh', shell: 'sh', yaml: 'yaml', csv: 'csv' };

export class Texts {
  constructor(root) {
    this.root = root;
    this.groups = new Map();
  }

  show(list) {
    const groups = new Map();
    for (const item of list) groups.set(item.group || '', [...(groups.get(item.group || '') || []), item]);
    const shape = JSON.stringify([...groups].map(([name, items]) => [name, items.map((i) => [i.id, i.title])]));
    if (shape !== this.shape) this.build(groups);
    this.shape = shape;
    for (const item of list) this.fill(this.blocks.get(item.id), item);
  }

  build(groups) {
    this.blocks = new Map();
    this.root.replaceChildren(...[...groups].map(([name, items]) =>
      el('section', { class: 'pv-texts', 'aria-label': name }, el('h2', { class: 'pv-title', text: name }), this.tabs(name, items))));
  }

  // One block at a time; a row of buttons picks it.
  tabs(group, items) {
    const chosen = items.some((i) => i.id === this.chosen?.[group]) ? this.chosen[group] : items[0].id;
    const blocks = items.map((item) => this.block(item));
    const buttons = items.map((item) => el('button', { type: 'button', role: 'tab', class: 'pv-tab', text: item.title || item.id, onclick: () => pick(item.id) }));
    const pick = (id) => {
      this.chosen = { ...this.chosen, [group]: id };
      items.forEach((item, i) => { blocks[i].hidden = item.id !== id; buttons[i].setAttribute('aria-selected', String(item.id === id)); buttons[i].tabIndex = item.id === id ? 0 : -1; });
    };
    const row = el('div', { class: 'pv-tabs', role: 'tablist', 'aria-label': group, onkeydown: (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!step) return;
      const next = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
      next.click(); next.focus();
    } }, ...buttons);
    row.hidden = items.length < 2;
    pick(chosen);
    return el('div', {}, row, ...blocks);
  }

  block(item) {
    const code = el('pre', { class: 'pv-code', tabindex: '0' }), notes = el('ul', { class: 'pv-notes' });
    const name = `${item.id}.${ENDINGS[item.language] || 'txt'}`;
    const copy = el('button', { type: 'button', class: 'pv-small', text: 'Copy', onclick: () => copyText(code.textContent, copy) });
    const save = el('button', { type: 'button', class: 'pv-small', text: 'Save', title: `Save as ${name}`, onclick: () => saveText(name, 'text/plain', code.textContent) });
    const tools = el('div', { class: 'pv-tools' }, copy, save);
    const root = el('div', { class: 'pv-block', role: 'tabpanel', 'aria-label': item.title || item.id, 'data-text': item.id }, tools, code, notes);
    this.blocks.set(item.id, { tools, code, notes });
    return root;
  }

  // Without a text there is nothing to copy: the notes say why.
  fill({ tools, code, notes }, item) {
    tools.hidden = code.hidden = !item.text;
    setText(code, item.text || '');
    notes.replaceChildren(...(item.notes || []).map((text) => el('li', { text })));
    notes.hidden = !item.notes?.length;
  }
}

export async function copyText(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'The browser refused: select and copy by hand';
  }
  setTimeout(() => { button.textContent = before; }, 2000);
}
