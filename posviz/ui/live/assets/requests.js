// Asks Python, with at most one request in flight. What was asked meanwhile goes out as one
// request when the reply is there: the newest values win, older ones are never sent.

const PATIENCE = 5000; // ms without a reply before it is asked again

export class Requests {
  // `build(action)` makes the request, `send(request)` hands it over, `wait(state)` tells the page.
  constructor(seq, build, send, wait) {
    Object.assign(this, { seq, build, send, wait, dirty: false, flight: null, actions: [] });
  }

  change() { this.dirty = true; this.go(); }

  act(action) { this.actions.push(action); this.go(); }

  go() {
    if (this.flight || this.closed || !(this.dirty || this.actions.length)) return;
    this.dirty = false;
    this.dispatch(this.actions.shift() ?? null, PATIENCE);
  }

  dispatch(action, patience) {
    const seq = ++this.seq;
    this.flight = { seq, action, timer: setTimeout(() => this.late(patience), patience) };
    this.wait('busy');
    this.send({ ...this.build(), seq, action });
  }

  late(patience) {
    const { action } = this.flight;
    this.wait('late');
    this.dirty = false;
    this.dispatch(action, Math.min(60000, patience * 2)); // a longer wait each time: a slow run must be able to end
    this.wait('late');
  }

  // A reply is here: true when it answers the newest request.
  answered(stamp) {
    if (this.flight && stamp < this.flight.seq) return false;
    if (this.flight) clearTimeout(this.flight.timer);
    this.flight = null;
    this.seq = Math.max(this.seq, stamp);
    this.wait(this.dirty || this.actions.length ? 'busy' : 'idle');
    return true;
  }

  close() { this.closed = true; if (this.flight) clearTimeout(this.flight.timer); }
}
