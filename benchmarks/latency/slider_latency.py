#!/usr/bin/env python3
"""Slider -> plot latency of any Streamlit page, measured in a real headless Chromium.

    slider_latency.py --url http://localhost:8501/Rope --slider "base" \
        [--chart CSS] [--nth 0 --nth 2] [--mode keys,drag,burst] [--n 40] [--json out.json]

Modes
  keys   focus the slider, press ArrowRight N times, one at a time; for each press: keydown -> every watched
         chart shows new pixels (last one counts). The plain "slider moved, plot changed" number.
  drag   mouse-drag the thumb across the track at --rate moves/s for --seconds; reports websocket messages sent
         and chart updates *during* the drag, gaps between updates, and pointerup -> settled.
  burst  ArrowRight every 1/--rate s for --seconds without waiting (a held key): updates/s, drops, backlog.

Reported per key press: key_to_plot (first frame in which the slowest watched chart shows the new picture),
key_to_responsive (same, plus the main thread has run the next task: the conservative number, use this one for budgets),
key_to_settled (last redraw), and where the time went (ws out, server, bytes, long tasks).

--chart defaults to Streamlit's Plotly charts. Any CSS selector works (open shadow roots are searched too); an element
with data-rev="..." is taken as updated when data-rev changes (cheap hook for a custom component).
Chart times are frame times: a change counts in the first animation frame in which the element's rendered fingerprint
differs. Needs: playwright (pip) and a Chromium (--chromium, default /usr/bin/chromium).
"""
from __future__ import annotations

import argparse, json, pathlib, statistics as st, sys, tempfile, time

from playwright.sync_api import sync_playwright

FLAGS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
         "--disable-background-timer-throttling", "--disable-renderer-backgrounding"]
GPU = {"none": ["--disable-gpu"],
       "swiftshader": ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]}
PROBE = (pathlib.Path(__file__).parent / "probe.js").read_text()


def pct(xs, p):
    if not xs:
        return None
    xs = sorted(xs)
    k = (len(xs) - 1) * p / 100
    lo, hi = int(k), min(int(k) + 1, len(xs) - 1)
    return round(xs[lo] + (xs[hi] - xs[lo]) * (k - lo), 1)


def summ(xs):
    return {"n": len(xs), "p50": pct(xs, 50), "p95": pct(xs, 95), "min": round(min(xs), 1), "max": round(max(xs), 1),
            "samples": [round(x, 2) for x in xs]} if xs else {"n": 0, "samples": []}


class Page:
    def __init__(self, a, page):
        self.a, self.p = a, page

    def ev(self, js, arg=None):
        return self.p.evaluate(js, arg)

    def open(self):
        t0 = time.time()
        self.p.goto(self.a.url, wait_until="domcontentloaded")
        self.p.wait_for_function("l => window.__lat && !!__lat.findSlider(l)", arg=self.a.slider, timeout=60000)
        self.cfg = {"slider": self.a.slider, "chart": self.a.chart, "nth": self.a.nth}
        self.ev("c => __lat.start(c)", self.cfg)
        want = len(self.a.nth) or 1
        self.p.wait_for_function("n => __lat.last.filter(x => x !== undefined).length >= n", arg=want, timeout=120000)
        self.idle(0.7)
        self.first_plot_s = time.time() - t0
        self.charts = self.ev("() => __lat.last.length")

    def idle(self, quiet=0.25, limit=60):
        """wait until no websocket frame and no chart change for `quiet` seconds and the script is not running"""
        end, last, since = time.time() + limit, None, time.time()
        while time.time() < end:
            cur = self.ev("() => JSON.stringify([__lat.ws.length, __lat.chart.length, __lat.state()])")
            if cur != last or '"running"' in cur:
                last, since = cur, time.time()
            elif time.time() - since > quiet:
                return
            self.p.wait_for_timeout(30)

    def focus(self):
        self.ev("l => __lat.findSlider(l).focus()", self.a.slider)

    def box(self):
        return self.ev("""l => { const i = __lat.findSlider(l); const w = i.closest('[data-testid=stSlider]');
          const thumb = w ? w.querySelector('[data-testid=stSliderThumbValue]').parentElement : null;
          const track = w ? thumb.parentElement : i; const r = track.getBoundingClientRect();
          const f = (i.value - i.min) / (i.max - i.min); const t = thumb && thumb.getBoundingClientRect();
          const h = 8; // native range input: thumb half-width
          return {x: t ? t.x + t.width/2 : r.x + h + (r.width - 2*h) * f, y: t ? t.y + t.height/2 : r.y + r.height/2,
                  x0: r.x + (t ? 0 : h), x1: r.right - (t ? 0 : h)}; }""", self.a.slider)

    def data(self):
        return self.ev("() => ({ws:__lat.ws,input:__lat.input,slider:__lat.slider,chart:__lat.chart,long:__lat.long,"
                       "frames:__lat.frames,remounts:__lat.remounts,blank:__lat.blank,stale:__lat.stale,"
                       "frameTimes:__lat.frameTimes})")

    def reset(self):
        self.ev("() => __lat.reset()")


def keys(pg, a):
    lat, first_in, out_delay, bytes_in, n_in, dom_after, long_ms, missed, painted, settled, redraws = [], [], [], [], [], [], [], 0, [], [], []
    remounts = blank = stale = frames = 0
    pg.focus()
    key = "ArrowRight"
    for k in range(a.n + a.warm):
        pg.reset()
        v0 = pg.ev("l => { const i = __lat.findSlider(l); return [i.value, i.max, i.min]; }", a.slider)
        if float(v0[0]) >= float(v0[1]): key = "ArrowLeft"
        if float(v0[0]) <= float(v0[2]): key = "ArrowRight"
        pg.focus()
        pg.p.keyboard.press(key)
        try:
            pg.p.wait_for_function("n => new Set(__lat.chart.map(c => c.i)).size >= n", arg=a.expect or pg.charts, timeout=a.timeout * 1000)
        except Exception:
            missed += 1
        pg.idle(a.quiet)
        d = pg.data()
        if k < a.warm or not d["chart"]:
            continue
        t0 = next(e["t"] for e in d["input"] if e["type"] == "keydown")
        first = {}
        for c in d["chart"]:
            first.setdefault(c["i"], c)
        last = max(first.values(), key=lambda c: c["t"])          # the slowest chart's first new picture
        lat.append(last["t"] - t0)
        painted.append(last.get("painted", last["t"]) - t0)       # ... and the main thread is free again
        settled.append(max(c["t"] for c in d["chart"]) - t0)      # last redraw (autorange, settle pass, ...)
        redraws.append(len(d["chart"]) / len(first))
        out = [w for w in d["ws"] if w["d"] == "out" and w["t"] >= t0]
        inn = [w for w in d["ws"] if w["d"] == "in" and w["t"] >= t0]
        if out:
            out_delay.append(out[0]["t"] - t0)
        if out and inn:
            first_in.append(inn[-1]["t"] - out[0]["t"])
            dom_after.append(last["t"] - max(w["t"] for w in inn if w["t"] <= last["t"]) if any(w["t"] <= last["t"] for w in inn) else 0)
        bytes_in.append(sum(w["n"] for w in inn)); n_in.append(len(inn))
        long_ms.append(sum(x["d"] for x in d["long"]))
        remounts += d["remounts"]; blank += d["blank"]; stale += d["stale"]; frames += d["frames"]
    return {"key_to_plot_ms": summ(lat), "key_to_responsive_ms": summ(painted),
            "key_to_settled_ms": summ(settled), "redraws_per_chart": round(sum(redraws) / max(1, len(redraws)), 2), "key_to_ws_out_ms": summ(out_delay),
            "ws_out_to_last_ws_in_ms": summ(first_in), "last_ws_in_before_paint_to_plot_ms": summ(dom_after),
            "bytes_in": summ(bytes_in), "msgs_in": summ(n_in), "main_thread_longtask_ms": summ(long_ms),
            "remounts_per_update": round(remounts / max(1, len(lat)), 2), "blank_chart_frames": blank,
            "stale_dimmed_frames": stale, "no_update": missed}


def motion(pg, a, mode):
    pg.focus(); pg.p.keyboard.press("Home"); pg.idle(0.6); pg.reset()
    step = 1.0 / a.rate
    n = int(a.seconds * a.rate)
    if mode == "drag":
        b = pg.box()
        pg.p.mouse.move(b["x"], b["y"]); pg.p.mouse.down()
        t = time.perf_counter()
        for k in range(1, n + 1):
            pg.p.mouse.move(b["x0"] + (b["x1"] - b["x0"]) * k / n * 0.98, b["y"] + (k % 2))
            t += step; time.sleep(max(0, t - time.perf_counter()))
        pg.p.mouse.up()
    else:
        t = time.perf_counter()
        for k in range(n):
            pg.p.keyboard.press("ArrowRight")
            t += step; time.sleep(max(0, t - time.perf_counter()))
    pg.idle(max(0.8, a.quiet), 120)
    d = pg.data()
    moves = [e for e in d["input"] if e["type"] in (("pointermove",) if mode == "drag" else ("keydown",))]
    t0, t1 = moves[0]["t"], moves[-1]["t"]
    up = next((e["t"] for e in d["input"] if e["type"] in ("pointerup", "mouseup")), t1) if mode == "drag" else t1
    watched = min((c["i"] for c in d["chart"]), default=0)
    during = [c for c in d["chart"] if c["i"] == watched and t0 <= c["t"] < up]
    times = [c["t"] for c in during]
    gaps = [y - x for x, y in zip(times, times[1:])]
    after = [c["t"] for c in d["chart"] if c["t"] >= up]
    ft = [t for t in d["frameTimes"] if t0 <= t <= up]
    fg = [y - x for x, y in zip(ft, ft[1:])]
    # steady staleness estimate: the final value was set at the last slider change; when did the last chart settle?
    lastv = d["slider"][-1]["t"] if d["slider"] else up
    return {"moves_sent": len(moves), "seconds": round((up - t0) / 1000, 2),
            "slider_values": len(d["slider"]),
            "ws_out_during": sum(1 for w in d["ws"] if w["d"] == "out" and t0 <= w["t"] < up - 1),
            "ws_in_bytes": sum(w["n"] for w in d["ws"] if w["d"] == "in"),
            "chart_updates_during": len(during), "updates_per_s": round(len(during) / max(.001, (up - t0) / 1000), 1),
            "gap_ms": summ(gaps), "release_to_settled_ms": round(max(after) - up, 1) if after else 0.0,
            "last_value_to_settled_ms": round(max([c["t"] for c in d["chart"]], default=lastv) - lastv, 1),
            "fps_during": round(len(ft) / max(.001, (up - t0) / 1000), 1), "frame_gap_ms": summ(fg),
            "longtask_ms": round(sum(x["d"] for x in d["long"])), "remounts": d["remounts"],
            "blank_chart_frames": d["blank"], "stale_dimmed_frames": d["stale"]}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--url", required=True)
    ap.add_argument("--slider", required=True, help="label (or aria-label) of the slider")
    ap.add_argument("--chart", default="[data-testid=stPlotlyChart]",
                    help="what to watch; name the outer container, not its content: content may be remounted one by one")
    ap.add_argument("--nth", type=int, action="append", default=[], help="watch only these matches (repeatable)")
    ap.add_argument("--expect", type=int, default=0, help="how many charts must change per move (default: all watched)")
    ap.add_argument("--mode", default="keys")
    ap.add_argument("--n", type=int, default=40)
    ap.add_argument("--warm", type=int, default=5)
    ap.add_argument("--rate", type=float, default=60)
    ap.add_argument("--seconds", type=float, default=2)
    ap.add_argument("--quiet", type=float, default=0.15)
    ap.add_argument("--timeout", type=float, default=20)
    ap.add_argument("--gpu", choices=GPU, default="none")
    ap.add_argument("--cpu-slowdown", type=float, default=1, help="CDP CPU throttling, 4 = a mid-range phone")
    ap.add_argument("--dark", action="store_true")
    ap.add_argument("--width", type=int, default=1400); ap.add_argument("--height", type=int, default=1000)
    ap.add_argument("--chromium", default="/usr/bin/chromium")
    ap.add_argument("--screenshot"); ap.add_argument("--profile", help="write a CDP CPU profile of the keys run here")
    ap.add_argument("--json"); ap.add_argument("--assert-p50", type=float); ap.add_argument("--assert-p95", type=float)
    a = ap.parse_args()
    out = {"url": a.url, "slider": a.slider}
    with sync_playwright() as pw, tempfile.TemporaryDirectory() as prof:
        ctx = pw.chromium.launch_persistent_context(prof, executable_path=a.chromium, headless=True,
            args=FLAGS + GPU[a.gpu], viewport={"width": a.width, "height": a.height},
            color_scheme="dark" if a.dark else "light")
        page = ctx.pages[0]
        errs = []
        page.on("console", lambda m: errs.append(m.text[:300]) if m.type == "error" else None)
        page.on("pageerror", lambda e: errs.append(str(e)[:300]))
        page.add_init_script(PROBE)
        cdp = ctx.new_cdp_session(page)
        if a.cpu_slowdown > 1:
            cdp.send("Emulation.setCPUThrottlingRate", {"rate": a.cpu_slowdown})
        pg = Page(a, page)
        pg.open()
        out["charts"], out["goto_to_first_plot_s"] = pg.charts, round(pg.first_plot_s, 2)
        for m in a.mode.split(","):
            if a.profile and m == "keys":
                cdp.send("Profiler.enable"); cdp.send("Profiler.start")
            out[m] = keys(pg, a) if m == "keys" else motion(pg, a, m)
            if a.profile and m == "keys":
                pathlib.Path(a.profile).write_text(json.dumps(cdp.send("Profiler.stop")["profile"]))
        if a.screenshot:
            page.screenshot(path=a.screenshot)
        out["console_errors"] = errs[:5]
        ctx.close()
    print(json.dumps(out, indent=1))
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(out, indent=1))
    k = out.get("keys", {}).get("key_to_responsive_ms", {})
    for name, lim in (("p50", a.assert_p50), ("p95", a.assert_p95)):
        if lim is not None and (k.get(name) is None or k[name] > lim):
            print(f"FAIL {name} {k.get(name)} ms > {lim} ms", file=sys.stderr); return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
