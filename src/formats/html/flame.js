/** Height of a frame in pixels. */
const FRAME_HEIGHT = 18;
/** Greatest number of levels that are drawn. */
const MAX_LEVELS = 1000;
/** Width in pixels below which frames are merged with the rest. */
const MIN_WIDTH = 0.5;
/** Width in pixels from which on frames have a label. */
const MIN_LABEL_WIDTH = 24;

/** A flame graph on a canvas. */
class FlameGraph {
  constructor(canvas, tree, { onZoom, onHover }) {
    Object.assign(this, { canvas, tree, onZoom, onHover, zoomed: [], isReversed: false, isMatch: null, focused: null });
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => this.onHover(null));
    canvas.addEventListener("click", (event) => {
      const frame = this.at(event);
      if (frame) this.onZoom(frame.path);
    });
  }

  /** Lays out and draws the frames. The path of functions in `zoomed` has the whole width. */
  draw() {
    const width = Math.max(1, this.canvas.parentElement.clientWidth);
    this.frames = [];
    let frame = this.tree.root(this.isReversed);
    this.wholeSides = frame.sides;
    this.add(frame, 0, width, 0, []);
    const path = [];
    for (const func of this.zoomed) {
      const child = this.tree.children(frame).find((child) => child.func === func);
      if (!child) break;
      path.push(func);
      frame = child;
      this.add(frame, 0, width, path.length, path.slice());
    }
    this.zoomed = path;
    this.zoomedTotal = frame.total;
    this.layOut(frame, 0, frame.total > 0 ? width / frame.total : 0, path.length, path);
    const levels = this.frames.reduce((most, frame) => Math.max(most, frame.level), 0) + 1;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.style.height = `${levels * FRAME_HEIGHT}px`;
    this.canvas.width = width * ratio;
    this.canvas.height = levels * FRAME_HEIGHT * ratio;
    this.context = this.canvas.getContext("2d");
    this.context.scale(ratio, ratio);
    this.context.font = "12px system-ui, sans-serif";
    this.context.textBaseline = "middle";
    const labels = this.frames.filter(({ width }) => width >= MIN_LABEL_WIDTH).map(({ func }) => this.name(func));
    this.sharedStarts = sharedStarts(labels);
    for (const frame of this.frames) this.drawFrame(frame);
    this.canvas.dataset.frames = this.frames.length;
  }

  layOut(frame, x, scale, level, path) {
    const pending = [{ frame, x, level, path }];
    while (pending.length > 0) {
      const { frame, x, level, path } = pending.pop();
      if (level >= MAX_LEVELS) continue;
      let left = x;
      for (const child of this.tree.children(frame)) {
        const width = child.total * scale;
        if (width < MIN_WIDTH) break;
        const childPath = [...path, child.func];
        this.add(child, left, width, level + 1, childPath);
        pending.push({ frame: child, x: left, level: level + 1, path: childPath });
        left += width;
      }
    }
  }

  add({ func, total, base, samples, self, sides }, x, width, level, path) {
    this.frames.push({ func, total, base, samples, self, sides, x, width, level, path });
  }

  /** What weights of the base are multiplied with, so that both profiles have equal totals. */
  baseScale() {
    const { total, totalBase } = this.tree;
    return totalBase[0] > 0 ? total[0] / totalBase[0] : 0;
  }

  name(func) {
    return func < 0 ? "all" : this.tree.functions[func].name;
  }

  drawFrame(frame) {
    const { context } = this;
    const y = frame.level * FRAME_HEIGHT;
    context.fillStyle = this.color(frame);
    context.fillRect(frame.x, y, Math.max(frame.width - 0.5, 0.5), FRAME_HEIGHT - 1);
    if (this.focused && this.focused.join() === frame.path.join()) {
      context.strokeStyle = "#06c";
      context.lineWidth = 2;
      context.strokeRect(frame.x + 1, y + 1, Math.max(frame.width - 2, 1), FRAME_HEIGHT - 3);
    }
    if (frame.width < MIN_LABEL_WIDTH) return;
    context.fillStyle = "#111";
    const name = this.name(frame.func);
    const label = fitted(context, name, frame.width - 6, this.sharedStarts.get(name));
    context.fillText(label, frame.x + 3, y + FRAME_HEIGHT / 2);
  }

  color(frame) {
    if (frame.func < 0) return "#c8c8c8";
    const func = this.tree.functions[frame.func];
    if (!func.isGroup && this.isMatch && this.isMatch(func)) return "#d56fe8";
    if (this.tree.ratio) return this.tree.ratio.color(frame.sides, this.wholeSides);
    if (this.tree.header.isDiff) {
      const base = frame.base * this.baseScale();
      const change = (frame.total - base) / Math.max(frame.total, base, 1);
      const pale = Math.round(235 - 140 * Math.min(Math.abs(change), 1));
      return change > 0 ? `rgb(240,${pale},${pale})` : `rgb(${pale},${pale},240)`;
    }
    let hash = 0;
    for (let i = 0; i < func.full.length; i++) hash = (hash * 31 + func.full.charCodeAt(i)) >>> 0;
    if (func.isGroup) return `hsl(${hash % 360} 30% 78%)`;
    return func.isKernel ? `hsl(${190 + (hash % 25)} 60% ${66 + (hash % 9)}%)` : `hsl(${18 + (hash % 34)} 85% ${62 + (hash % 10)}%)`;
  }

  at(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const x = event.clientX - left;
    const level = Math.floor((event.clientY - top) / FRAME_HEIGHT);
    return (this.frames ?? []).find((frame) => frame.level === level && frame.x <= x && x < frame.x + frame.width);
  }

  hover(event) {
    this.onHover(this.at(event) ?? null, event);
  }

  /** Moves the focus of the keyboard to a neighboring frame; returns it. */
  move(key) {
    const same = (frame) => this.focused && frame.path.join() === this.focused.join();
    const current = this.frames.find(same) ?? this.frames[0];
    const onLevel = (level) => this.frames.filter((frame) => frame.level === level);
    const isInside = (frame) => frame.x >= current.x && frame.x < current.x + current.width;
    const siblings = onLevel(current.level).sort((a, b) => a.x - b.x);
    const index = siblings.indexOf(current);
    const next = {
      ArrowDown: () => onLevel(current.level + 1).filter(isInside).sort((a, b) => b.width - a.width)[0],
      ArrowUp: () => onLevel(current.level - 1).find((frame) => frame.x <= current.x && current.x < frame.x + frame.width),
      ArrowLeft: () => siblings[index - 1],
      ArrowRight: () => siblings[index + 1],
    }[key]();
    this.focused = (next ?? current).path;
    this.draw();
    this.scrollTo(next ?? current);
    return next ?? current;
  }

  /** Scrolls the page by as much as a frame is out of view. */
  scrollTo({ level }) {
    const top = this.canvas.getBoundingClientRect().top + level * FRAME_HEIGHT;
    const below = top + FRAME_HEIGHT - window.innerHeight;
    if (top < 0) window.scrollBy(0, top);
    else if (below > 0) window.scrollBy(0, below);
  }
}

