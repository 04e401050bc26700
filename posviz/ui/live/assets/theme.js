// Streamlit's theme as Plotly settings. Colours come from the --st-* variables of the page.

export function readTheme(element) {
  const style = getComputedStyle(element);
  const get = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
  const background = get('--st-background-color', '#ffffff');
  return {
    dark: luminance(background) < 0.4,
    background,
    text: get('--st-text-color', '#31333f'),
    primary: get('--st-primary-color', '#ff4b4b'),
    font: get('--st-font', 'sans-serif'),
  };
}

export function rgb(color) {
  const probe = document.createElement('canvas').getContext('2d');
  probe.fillStyle = color;
  const hex = probe.fillStyle;
  if (hex.startsWith('#')) return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  return hex.match(/[\d.]+/g).slice(0, 3).map(Number);
}

function luminance(color) {
  const [r, g, b] = rgb(color);
  return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
}

function faint(color, alpha) {
  const [r, g, b] = rgb(color);
  return `rgba(${r},${g},${b},${alpha})`;
}

// A colour may be given once per theme: {"light": …, "dark": …}.
export function resolve(node, dark) {
  if (node === null || typeof node !== 'object' || ArrayBuffer.isView(node)) return node;
  if (Array.isArray(node)) return typeof node[0] === 'number' && typeof node[node.length - 1] === 'number' ? node : node.map((item) => resolve(item, dark));
  if ('light' in node && 'dark' in node) return dark ? node.dark : node.light;
  const out = {};
  for (const key of Object.keys(node)) out[key] = resolve(node[key], dark);
  return out;
}

export function themedLayout(given, theme, extra) {
  const layout = resolve(given || {}, theme.dark);
  const margin = { l: 56, r: 14, t: 10, b: 42, pad: 0, ...(layout.margin || {}) };
  delete layout.template;
  delete layout.title;
  delete layout.width;
  const out = {
    hovermode: 'closest',
    ...layout,
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    font: { family: theme.font, size: 12, color: theme.text, ...(layout.font || {}) },
    showlegend: false,
    autosize: true,
    margin,
    hoverlabel: { bgcolor: theme.background, font: { color: theme.text }, bordercolor: faint(theme.text, 0.3) },
    ...extra,
  };
  for (const name of new Set(['xaxis', 'yaxis', ...Object.keys(layout)]))
    if (/^[xy]axis\d*$/.test(name)) out[name] = axis(layout[name] || {}, theme);
  return out;
}

function axis(given, theme) {
  const title = typeof given.title === 'string' ? { text: given.title } : given.title;
  return {
    gridcolor: faint(theme.text, 0.1),
    zerolinecolor: faint(theme.text, 0.25),
    linecolor: faint(theme.text, 0.3),
    tickcolor: faint(theme.text, 0.3),
    ticks: 'outside',
    ticklen: 4,
    nticks: given.type === 'log' ? logTicks(given.range) : Math.max(3, Math.round(7 * share(given.domain))),
    tickmode: given.tickvals ? 'array' : 'auto', // of two axes on one side each has round numbers of its own
    ...given,
    ...(given.range ? { range: [...given.range] } : {}), // Plotly writes a zoom into the array it was given
    ...(title ? { title: { standoff: 6, font: { size: 12, color: faint(theme.text, 0.8) }, ...title } } : {}),
    automargin: false,
  };
}

// How much of the plot an axis has to itself; in small multiples a part.
const share = (domain) => (domain ? Math.sqrt(domain[1] - domain[0]) : 1);

// Plotly labels 2 … 9 of each decade where few ticks are asked of a short axis; 2 and 5 are enough.
const logTicks = (range) => (range && Math.abs(range[1] - range[0]) < 2 ? 3 : 6);

// Calls back whenever a theme variable changes, whoever changed it: a transition starts.
export function watchTheme(probe, changed) {
  probe.addEventListener('transitionrun', changed);
  return () => probe.removeEventListener('transitionrun', changed);
}
