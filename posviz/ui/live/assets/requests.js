// Asks Python, with at most one request in flight. What was asked meanwhile goes out as one
// request when the reply is there: the newest values win, older ones are never sent.

const SAID = 3000; // ms without a reply before the page says that it waits
const PATIENCE = 5000; // … before it asks again

export class Requests {
  // `build(action)` makes the request, `send(request)` hands it over, `wait(state)` tells the page.
  constructor(seq, build, send, wait) {
    Object.assign(this, { seq, build, send, wait, dirty: false, flight: null, actions: [] });
  }

  change() { this.dirty = true; this.go(); }

  act(action) { this.actions.push(action); this.go(); }

  // What is asked at rest may take its time: a change made meanwhile does not wait for it.
  go() {
    if (this.flight?.unhurried && this.dirty) this.rest();
    if (this.flight || this.closed || !(this.dirty || this.actions.length)) return;
    this.dirty = false;
    this.wait('busy');
    this.dispatch(this.actions.shift() ?? null, PATIENCE);
  }

  dispatch(action, patience) {
    const seq = ++this.seq;
    const request = { ...this.build(), seq, action };
    const timers = [setTimeout(() => this.wait('late'), SAID), setTimeout(() => this.again(patience), patience)];
    this.flight = { seq, action, timers, unhurried: request.rest && !action };
    this.send(request);
  }

  again(patience) {
    const { action } = this.flight;
    this.rest();
    this.dirty = false;
    this.dispatch(action, Math.min(60000, patience * 2)); // a longer wait each time: a slow run must be able to end
  }

  rest() {
    for (const timer of this.flight?.timers || []) clearTimeout(timer);
    this.flight = null;
  }

  // A reply is here: true when it answers the newest request. `anew` is a page that was changed
  // from outside (another model, say): it counts whatever it answers.
  answered(stamp, anew) {
    if (!anew && stamp < this.seq) return false;
    this.rest();
    this.seq = Math.max(this.seq, stamp);
    this.wait(this.dirty || this.actions.length ? 'busy' : 'idle');
    return true;
  }

  // What was not sent yet is void: the page has set the values itself.
  drop() {
    this.dirty = false;
    if (!this.flight) this.wait(this.actions.length ? 'busy' : 'idle');
  }

  close() { this.closed = true; this.rest(); }
}
