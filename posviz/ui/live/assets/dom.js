// Builds elements; text is always set as text, never as markup.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name in DIRECT) node[DIRECT[name]] = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
const DIRECT = { class: 'className', text: 'textContent' };

export function svg(tag, attributes = {}) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// A sentence whose command to install something stands as code. Only these very words are taken for it:
// other backticks may be part of a value that the sentence quotes.
export function withCommand(text) {
  const found = text.match(/^([^'"`]* installed here: )`(make \w+)`(.*)$/s);
  return found ? [found[1], el('code', { text: found[2] }), found[3]] : [text];
}

// Writes only what changed: a write that changes nothing still costs a style pass.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function saveText(name, mime, text) {
  const url = URL.createObjectURL(new Blob([text], { type: mime }));
  saveUrl(name, url);
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export function saveUrl(name, url) {
  const link = el('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

// Fitted to a sample of 24 pixels: two long dashes or three short ones.
const DASHES = { solid: '', dot: '1.5 3', dash: '6 3', longdash: '10.5 3', dashdot: '6 3 1.5 3', longdashdot: '11 3 2 3' };

// A short sample of a line: colour and dash together, so that colour never carries alone. One of a
// faint line is as faint and as thin as the line.
export function sample(color, dash, kind, { opacity = 1, width = 2 } = {}) {
  const box = svg('svg', { class: 'pv-sample', width: 26, height: 10, opacity, 'aria-hidden': 'true' });
  if (kind === 'bar') box.append(svg('rect', { x: 8, y: 0, width: 10, height: 10, fill: color }));
  if (kind !== 'bar' && kind !== 'markers')
    box.append(svg('line', { x1: 1, x2: 25, y1: 5, y2: 5, stroke: color, 'stroke-width': width + 0.5, 'stroke-dasharray': DASHES[dash] ?? dash ?? '' }));
  if (kind === 'markers') box.append(svg('circle', { cx: 13, cy: 5, r: 4, fill: color }));
  return box;
}
