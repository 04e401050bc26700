// When Plotly draws: once per panel at first, and again when the values rest, one panel per idle
// slice so that no task is long. A panel out of sight waits until it is scrolled to.

const REST = 150; // ms after the last reply
const REFRESH = 300; // ms between two full drawings of one panel while values keep moving

const idle = window.requestIdleCallback
  ? (work) => window.requestIdleCallback(work, { timeout: 120 })
  : (work) => setTimeout(work, 16);

export class Settler {
  constructor(board) {
    Object.assign(this, { board, timer: 0, running: false, moved: 0 });
    this.seen = new IntersectionObserver((entries) => this.sight(entries), { rootMargin: '150px' });
    this.sized = new ResizeObserver(() => this.resize());
    this.sized.observe(board.grid);
  }

  watch(panel) { panel.root.panel = panel; panel.visible = false; this.seen.observe(panel.root); }

  unwatch(panel) { this.seen.unobserve(panel.root); }

  sight(entries) {
    for (const entry of entries) entry.target.panel.visible = entry.isIntersecting;
    if (!this.moving()) this.now();
  }

  // Says on the page whether every panel in sight shows the newest values as Plotly draws them.
  rest(reached) { this.board.root.dataset.rest = reached ? 'yes' : 'no'; }

  moving() { const { requests } = this.board; return Boolean(requests?.flight || requests?.dirty); }

  panels() { return [...this.board.panels.values()]; }

  // Plotly is there: draw what has never been drawn, whatever else goes on.
  first() { this.run(); }

  after() {
    clearTimeout(this.timer);
    this.waiting = true;
    this.rest(false);
    if (this.panels().some((p) => !p.drawn)) this.run();
    this.timer = setTimeout(() => this.now(), REST);
    this.refresh();
  }

  now() {
    if (this.closed) return;
    if (this.moving()) return; // the reply brings us back
    this.moved = 0;
    this.waiting = false;
    this.board.clearHeader();
    this.board.writeAddress();
    this.run();
  }

  next() {
    const panels = this.panels(), fresh = panels.filter((p) => !p.drawn);
    if (fresh.length) return fresh.find((p) => p.visible) || fresh[0];
    if (this.moving() || this.board.player) return null;
    return panels.find((p) => p.stale && p.visible) || null;
  }

  run() {
    if (this.running || this.closed || !this.board.Plotly) return;
    const panel = this.next();
    if (!panel) { this.rest(!this.waiting && !this.moving()); return; }
    this.running = true;
    (panel.drawn ? idle : (work) => setTimeout(work, 0))(() => {
      this.running = false;
      if (this.closed) return;
      const current = this.next();
      if (current) current.settle();
      this.run();
    });
  }

  // While values move without a rest: now and then one panel in full, for what a draft cannot show.
  refresh() {
    const now = performance.now();
    this.moved ||= now;
    if (now - this.moved < REFRESH || !this.board.Plotly) return;
    const waiting = this.panels().filter((p) => p.drawn && p.stale && p.visible && p.needsPlotly);
    if (!waiting.length) return;
    this.moved = now;
    const panel = waiting.reduce((a, b) => ((a.full || 0) <= (b.full || 0) ? a : b));
    panel.full = now;
    setTimeout(() => { if (!this.closed && panel.stale) panel.settle(); }, 0);
  }

  resize() {
    clearTimeout(this.resizing);
    this.resizing = setTimeout(() => {
      const panels = this.panels().filter((p) => p.drawn && p.width !== p.plot.clientWidth);
      const one = () => { const p = panels.shift(); if (!p || this.closed) return; p.width = p.plot.clientWidth; p.resize(); setTimeout(one, 0); };
      one();
    }, 60);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    clearTimeout(this.resizing);
    this.seen.disconnect();
    this.sized.disconnect();
  }
}
