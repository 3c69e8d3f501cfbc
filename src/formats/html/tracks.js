/** Height of a track in pixels. */
const TRACK_HEIGHT = 22;
/** Greatest height of all tracks in pixels; more are scrolled. */
const MAX_TRACKS_HEIGHT = 240;
/** Least width of a bar in pixels. Narrower ones would alternate with the time between samples. */
const BIN_WIDTH = 4;
/** Tracks of events, tracks of threads that are shown at first, and what the number of these is multiplied with by each step. */
const FIRST_TRACKS = 8;
const TRACKS_FACTOR = 5;

/**
 * Tracks: a row for each group of samples, with their density over time. Only those in view are drawn, so that thousands of
 * threads take no longer than a few.
 */
class Tracks {
  constructor(canvas, tree, { onSelect, onZoom, onPick, onHover, onReset }) {
    Object.assign(this, { canvas, tree, onSelect, onZoom, onPick, onHover, onReset });
    Object.assign(this, { from: 0, to: Infinity, start: null, focused: 0, shown: FIRST_TRACKS, events: [], tracks: [] });
    this.scroller = canvas.parentElement.parentElement;
    this.scroller.addEventListener("scroll", () => this.draw());
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.start = { x: event.clientX, slot: this.slot(event), isDrag: false };
    });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerleave", () => this.onHover(null));
    canvas.addEventListener("pointercancel", () => (this.start = null));
    canvas.addEventListener("pointerup", (event) => {
      const { start } = this;
      this.start = null;
      if (start?.isDrag) this.onSelect(this.from, this.to, false);
      else if (start) this.activate(this.index(event));
    });
    canvas.addEventListener("dblclick", () => this.onReset());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /** Shows samples by group, and those of each event if there are several. `picked` is the key of the selected group. */
  set({ grouping, includes, eventGrouping, includesOfEvents, picked, pickedEvents, unit, bySamples }) {
    Object.assign(this, { unit, bySamples });
    const { weights } = this.tree;
    const build = (grouping, includes) => {
      const rows = grouping.rows((row) => this.tree.rowBase[row] === 0 && includes(row));
      const tracks = grouping.groups.map(({ key, label }, group) => ({ grouping, group, key, label, rows: rows(group), total: 0 }));
      for (const track of tracks) for (const row of track.rows) track.total += weights[row];
      return tracks.filter((track) => track.rows.length > 0).sort((a, b) => b.total - a.total);
    };
    this.words = grouping.words;
    const { waits } = this.tree;
    this.waitsOf = grouping.isByEvent ? [] : waits.byGroup(grouping.ids, grouping.groups.length);
    this.events = eventGrouping ? build(eventGrouping, includesOfEvents).slice(0, FIRST_TRACKS) : [];
    this.tracks = build(grouping, includes);
    this.whole = this.tracks.reduce((sum, track) => sum + track.total, 0);
    this.isPicked = (track) => (track.grouping.isByEvent ? pickedEvents[Number(track.key)] : track.key === picked);
    this.hasPicked = picked !== null;
    this.shown = Math.max(FIRST_TRACKS, Math.min(this.shown, this.tracks.length));
  }

  /** Number of tracks that are not shown. */
  get more() {
    return Math.max(0, this.tracks.length - this.shown);
  }

  /** Number of lines: tracks of events, other tracks, and one to show more or fewer of them. */
  get lines() {
    return this.events.length + Math.min(this.shown, this.tracks.length) + (this.tracks.length > FIRST_TRACKS ? 1 : 0);
  }

  track(line) {
    if (line < this.events.length) return this.events[line];
    const index = line - this.events.length;
    return index < this.shown ? this.tracks[index] : undefined;
  }

  /** Width of the names. On narrow pages, they are drawn over the tracks. */
  get left() {
    return this.width < 600 ? 0 : 180;
  }

  /** The number of the line at the mouse; -1 for the axis. */
  index(event) {
    const y = event.clientY - this.canvas.getBoundingClientRect().top - AXIS_HEIGHT;
    return y < 0 ? -1 : Math.floor((y + this.scroller.scrollTop) / TRACK_HEIGHT);
  }

  slot(event) {
    const share = (event.clientX - this.canvas.getBoundingClientRect().left - this.left) / (this.width - this.left);
    const [first, last] = this.window;
    return Math.min(Math.max(first + Math.floor(share * (last + 1 - first)), first), last);
  }

  move(event) {
    const { start } = this;
    if (start && Math.abs(event.clientX - start.x) > 3) start.isDrag = true;
    const slot = this.slot(event);
    if (start?.isDrag) {
      [this.from, this.to] = [Math.min(start.slot, slot), Math.max(start.slot, slot)];
      this.draw();
    }
    const track = this.track(this.index(event));
    this.onHover(track ? this.describe(track, slot) : null, event);
  }

  describe(track, slot) {
    const { bins, waitBins, scale } = this.bins(track);
    const [first] = this.window;
    const bin = Math.floor((slot - first) / scale);
    const waits = this.tree.waits.names.map((name, state) => [name, waitBins[state]?.[bin] ?? 0]).filter(([, time]) => time > 0);
    const { slot: length } = this.tree.header;
    const from = (first + bin * scale) * length;
    const isByEvent = track.grouping.isByEvent;
    const unit = !isByEvent ? this.unit : this.bySamples ? "samples" : this.tree.header.events[track.key][1];
    return { label: track.label, total: track.total, whole: isByEvent ? null : this.whole, unit, weight: bins[bin] ?? 0, waits, from, to: from + scale * length };
  }

  /** Selects the group of a line, or shows more tracks. */
  activate(line) {
    const track = this.track(line);
    if (track) {
      this.onPick(track);
    } else if (line === this.lines - 1 && this.tracks.length > FIRST_TRACKS) {
      this.shown = this.more > 0 ? Math.min(this.shown * TRACKS_FACTOR, this.tracks.length) : FIRST_TRACKS;
      this.draw();
    }
  }

  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.zoom(event.deltaY < 0 ? 0.5 : 2, this.slot(event));
  }

  /** Shows a part of the time that is longer by a factor, around an interval. */
  zoom(factor, center) {
    const [first, last] = this.window;
    const most = this.tree.slots - 1;
    const length = Math.max(Math.round((last + 1 - first) * factor), 10);
    const start = Math.max(0, Math.min(Math.round(center - ((center - first) / (last + 1 - first)) * length), most + 1 - length));
    this.onZoom(start, Math.min(start + length - 1, most));
  }

  key(event) {
    const [first, last] = this.window;
    const span = moveSpan(event, [this.from, this.to], [first, last], Math.max(1, Math.round((last + 1 - first) / 50)));
    if (span) {
      this.onSelect(...span, true);
    } else if (event.key === "+" || event.key === "-") {
      const center = this.to === Infinity ? (first + last) / 2 : (this.from + this.to) / 2;
      this.zoom(event.key === "+" ? 0.5 : 2, center);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.focused = Math.min(Math.max(this.focused + (event.key === "ArrowDown" ? 1 : -1), 0), this.lines - 1);
      this.scrollTo(this.focused);
      this.draw();
    } else if (event.key === "Enter") {
      this.activate(this.focused);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  scrollTo(line) {
    const [top, bottom] = [line * TRACK_HEIGHT, (line + 1) * TRACK_HEIGHT];
    const room = this.scroller.clientHeight - AXIS_HEIGHT;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (bottom > this.scroller.scrollTop + room) this.scroller.scrollTop = bottom - room;
  }

  /** Weights of a track in parts of the time that is shown, each of `scale` intervals. */
  bins(track) {
    const [first, last] = this.window;
    const count = last + 1 - first;
    const scale = Math.max(1, Math.ceil((count * BIN_WIDTH) / Math.max(this.width - this.left, 1)));
    const key = `${first} ${last} ${scale}`;
    if (track.binsKey !== key) {
      const bins = new Float64Array(Math.ceil(count / scale));
      const { rowSlot, weights } = this.tree;
      for (const row of track.rows) {
        const slot = rowSlot[row];
        if (slot >= first && slot <= last) bins[Math.floor((slot - first) / scale)] += weights[row];
      }
      Object.assign(track, { binsKey: key, bins, most: bins.reduce((most, weight) => Math.max(most, weight), 0) });
      const waits = track.grouping.isByEvent ? [] : this.waitsOf[track.group];
      track.waitBins = this.tree.waits.bins(waits, first, bins.length, scale);
      track.waiting = new Set(waits.map((wait) => this.tree.waits.threads[wait])).size;
    }
    return { bins: track.bins, waitBins: track.waitBins, most: track.most, scale };
  }

  draw() {
    const { scroller, lines } = this;
    this.canvas.parentElement.style.height = `${AXIS_HEIGHT + lines * TRACK_HEIGHT}px`;
    const height = Math.min(AXIS_HEIGHT + lines * TRACK_HEIGHT, MAX_TRACKS_HEIGHT);
    // Before the width is read: a canvas that is higher than its place would add a scroll bar.
    scroller.style.height = this.canvas.style.height = `${height}px`;
    this.width = Math.max(1, scroller.clientWidth);
    const { left, width } = this;
    const context = (this.context = sized(this.canvas, width, height));
    const [first, last] = this.window;
    const { slot: length } = this.tree.header;
    const top = Math.floor(scroller.scrollTop / TRACK_HEIGHT);
    const bottom = Math.min(lines, Math.ceil((scroller.scrollTop + height - AXIS_HEIGHT) / TRACK_HEIGHT));
    context.save();
    context.beginPath();
    context.rect(0, AXIS_HEIGHT, width, height);
    context.clip();
    // One scale for all tracks in view, so that they can be compared; each event has its own.
    let most = 1;
    for (let line = top; line < bottom; line++) {
      const track = this.track(line);
      if (track && !track.grouping.isByEvent) most = Math.max(most, this.bins(track).most);
    }
    for (let line = top; line < bottom; line++) this.drawLine(line, AXIS_HEIGHT + line * TRACK_HEIGHT - scroller.scrollTop, most);
    context.restore();
    drawAxis(context, { from: first * length, to: (last + 1) * length, left, width: width - left, y: 0, lines: height });
    if (this.to !== Infinity) {
      const x = (slot) => left + (Math.min(Math.max(slot - first, 0), last + 1 - first) / (last + 1 - first)) * (width - left);
      context.fillStyle = styleColor("--back");
      context.globalAlpha = 0.65;
      context.fillRect(left, AXIS_HEIGHT, x(this.from) - left, height);
      context.fillRect(x(this.to + 1), AXIS_HEIGHT, width - x(this.to + 1), height);
      context.globalAlpha = 1;
      context.strokeStyle = styleColor("--accent");
      context.strokeRect(x(this.from) + 0.5, AXIS_HEIGHT + 0.5, Math.max(x(this.to + 1) - x(this.from) - 1, 1), height - AXIS_HEIGHT - 1);
    }
    Object.assign(this.canvas.dataset, { tracks: this.tracks.length, lines, more: this.more });
  }

  drawLine(line, y, most) {
    const { context, left, width } = this;
    const track = this.track(line);
    let text = this.more > 0 ? `▸ ${this.more.toLocaleString("en")} more ${this.more === 1 ? this.words.one : this.words.many}` : "▾ fewer";
    if (track) {
      const { grouping } = track;
      this.drawDensity(track, y, grouping.isByEvent ? this.bins(track).most || 1 : most);
      text = grouping.isByEvent ? track.label : `${percent(track.total, this.whole)} ${track.label}`;
    }
    const isDim = track && !track.grouping.isByEvent && this.hasPicked && !this.isPicked(track);
    context.font = `${track && this.isPicked(track) ? "600 " : ""}12px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.fillStyle = styleColor(!track ? "--accent" : isDim ? "--soft" : "--text");
    text = fitted(context, text, (left || width) - 10);
    if (left === 0) {
      context.strokeStyle = styleColor("--back");
      context.lineWidth = 4;
      context.strokeText(text, 4, y + TRACK_HEIGHT / 2);
      context.lineWidth = 1;
    }
    context.fillText(text, 4, y + TRACK_HEIGHT / 2);
    context.fillStyle = styleColor("--line");
    context.fillRect(0, y + TRACK_HEIGHT - 1, width, 1);
    if (line === this.focused && document.activeElement === this.canvas) {
      context.strokeStyle = styleColor("--accent");
      context.strokeRect(1, y + 1, width - 2, TRACK_HEIGHT - 3);
    }
  }

  /** Draws samples as bars, occurrences of a tracepoint as marks, and what another event counted as a line. */
  drawDensity(track, y, most) {
    const { context, left, width } = this;
    const { bins, scale } = this.bins(track);
    const [first, last] = this.window;
    const pixels = ((width - left) * scale) / (last + 1 - first);
    const { isByEvent } = track.grouping;
    const isTracepoint = isByEvent && this.tree.header.events[track.key][2];
    const bottom = y + TRACK_HEIGHT - 1;
    const height = (bin) => (bins[bin] === 0 ? 0 : Math.max(1, Math.min(bins[bin] / most, 1) * (TRACK_HEIGHT - 3)));
    context.fillStyle = context.strokeStyle = styleColor(isByEvent ? "--event" : "--density");
    if (isByEvent && !isTracepoint) {
      context.beginPath();
      for (let bin = 0; bin < bins.length; bin++) context.lineTo(left + (bin + 0.5) * pixels, bottom - height(bin));
      context.stroke();
      return;
    }
    context.globalAlpha = !isByEvent && this.hasPicked && !this.isPicked(track) ? 0.35 : 1;
    for (let bin = 0; bin < bins.length; bin++) {
      if (bins[bin] === 0) continue;
      if (isTracepoint) context.fillRect(left + (bin + 0.5) * pixels - 0.5, y + 2, 1, TRACK_HEIGHT - 3);
      else context.fillRect(left + bin * pixels, bottom - height(bin), Math.max(pixels, 1), height(bin));
    }
    context.globalAlpha = 1;
    if (!isByEvent) this.tree.waits.draw(context, track.waitBins, { left, y: y + 1, pixels, length: scale * this.tree.header.slot, threads: Math.max(track.waiting, 1) });
  }
}

