// Numbers as people read and type them. No number here is computed from the field's formulas.

const SUPERSCRIPT = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' };
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// A value to be read: five significant digits, thin spaces between thousands.
export function shown(value) {
  if (typeof value !== 'number') return String(value);
  if (Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-3)) {
    const [digits, power] = value.toExponential(3).split('e');
    const exponent = [...String(Number(power))].map((c) => SUPERSCRIPT[c]).join('');
    return `${minus(String(Number(digits)))}·10${exponent}`;
  }
  const text = Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)));
  const [whole, part] = text.split('.');
  const grouped = whole.length > 4 + (value < 0) ? whole.replace(/\B(?=(\d{3})+$)/g, '\u202f') : whole;
  return minus(part === undefined ? grouped : `${grouped}.${part}`);
}

const minus = (text) => text.replace('-', '−');

// The exact text of a value, for the box that edits it.
export const exact = (value) => (value === null || value === undefined ? '' : String(value));

export function parseNumber(text) {
  const plain = text.trim().replace(/[\u202f\u2009 _]/g, '').replace('−', '-').replace(/,(?=\d{3}(\D|$))/g, ''); // 1,000 is a thousand, 0,5 is nothing
  return NUMBER.test(plain) ? Number(plain) : null;
}

// Why a number cannot be used, or '' when it can.
export function objection(control, value) {
  const bounds = [];
  if (control.lower !== null && control.lower !== undefined)
    bounds.push(`${control.lower_included === false ? 'above' : 'of at least'} ${control.lower}`);
  if (control.upper !== null && control.upper !== undefined)
    bounds.push(`${control.upper_included === false ? 'below' : 'at most'} ${control.upper}`);
  if (control.domain) return check(control, value) ? '' : `must be ${control.domain}`;
  const kind = control.integer ? 'a whole number' : 'a number';
  const rule = `must be ${[kind, bounds.join(' and ')].filter(Boolean).join(' ')}`;
  return check(control, value) ? '' : rule;
}

function check(control, value) {
  if (value === null || !Number.isFinite(value)) return false;
  const low = control.lower ?? -Infinity, high = control.upper ?? Infinity;
  return (control.lower_included === false ? value > low : value >= low)
    && (control.upper_included === false ? value < high : value <= high)
    && (!control.integer || Number.isInteger(value));
}

const LOG_STEPS = 240;

// The positions of a slider's thumb: 0, 1, 2, … `count`, and the value at each.
export class Track {
  constructor(control) {
    this.control = control;
    [this.low, this.high] = control.slider || [control.lower ?? 0, control.upper ?? 1];
    this.log = control.scale === 'log' && this.low > 0;
    this.step = control.step || (control.integer ? 1 : (this.high - this.low) / 200);
    this.count = this.log ? LOG_STEPS : Math.max(1, Math.round((this.high - this.low) / this.step));
  }

  value(k) {
    if (k <= 0) return this.low;
    if (k >= this.count) return this.high;
    if (this.log) return this.tidy(this.low * (this.high / this.low) ** (k / this.count), 3);
    return this.tidy(this.low + k * this.step, 12);
  }

  tidy(value, digits) {
    const unit = this.control.integer ? 1 : 0;
    const rounded = Number(value.toPrecision(digits));
    return unit ? Math.min(this.high, Math.max(this.low, Math.round(rounded / unit) * unit)) : rounded;
  }

  // Nearest thumb position; values beyond the slider's range pin it to its end.
  position(value) {
    if (typeof value !== 'number') return 0;
    const part = this.log
      ? Math.log(Math.max(value, this.low) / this.low) / Math.log(this.high / this.low)
      : (value - this.low) / (this.high - this.low);
    return Math.round(Math.min(1, Math.max(0, part)) * this.count);
  }

  // The first thumb position in a direction whose value differs; a whole-number track has twins.
  next(from, direction, value) {
    for (let k = from; k >= 0 && k <= this.count; k += direction)
      if (this.value(k) !== value) return k;
    return direction > 0 ? this.count : 0;
  }
}
