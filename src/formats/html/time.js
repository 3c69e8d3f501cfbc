/** Height of an interval of the heat map in pixels. */
const SLOT_HEIGHT = 3;

/** The shortest time in nanoseconds, and the least samples, of which a heat map shows a pattern. */
const HEAT_TIME = 1e9;
const HEAT_SAMPLES = 500;

/** A heat map of time: a column for each second or part of it, with its intervals from the bottom. */
class HeatMap {
  constructor(canvas, tree, { onSelect, onHover }) {
    Object.assign(this, { canvas, tree, onSelect, onHover, from: 0, to: Infinity, start: null });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.start = this.slot(event);
      this.drag(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (this.start !== null) this.drag(event);
      const slot = this.slot(event);
      const { slot: length } = tree.header;
      const whole = this.weights.reduce((sum, weight) => sum + weight, 0);
      this.onHover({ from: slot * length, to: (slot + 1) * length, weight: this.weights[slot], whole }, event);
    });
    canvas.addEventListener("pointerleave", () => this.onHover(null));
    canvas.addEventListener("pointerup", (event) => {
      if (this.start === null) return;
      this.drag(event);
      this.start = null;
      this.onSelect(this.from, this.to, false);
    });
    canvas.addEventListener("keydown", (event) => {
      const span = moveSpan(event, [this.from, this.to], [0, tree.slots - 1], tree.header.inColumn);
      if (!span) return;
      event.preventDefault();
      event.stopPropagation();
      this.onSelect(...span, true);
    });
  }

  get isUseful() {
    const { tree } = this;
    const samples = tree.eventSamples.reduce((sum, samples) => sum + samples, 0);
    return tree.slots * tree.header.slot >= HEAT_TIME && samples >= HEAT_SAMPLES;
  }

  get columns() {
    return Math.ceil(this.tree.slots / this.tree.header.inColumn);
  }

  drag(event) {
    const slot = this.slot(event);
    [this.from, this.to] = [Math.min(this.start, slot), Math.max(this.start, slot)];
    this.draw();
  }

  slot(event) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const { inColumn } = this.tree.header;
    const clamp = (value, most) => Math.min(Math.max(Math.floor(value), 0), most);
    const column = clamp(((event.clientX - left) / width) * this.columns, this.columns - 1);
    const row = clamp((1 - (event.clientY - top) / (height - AXIS_HEIGHT)) * inColumn, inColumn - 1);
    return Math.min(column * inColumn + row, this.tree.slots - 1);
  }

  draw(weights = this.weights) {
    this.weights = weights;
    const { inColumn, slot: length } = this.tree.header;
    const width = Math.max(1, this.canvas.parentElement.clientWidth);
    const height = inColumn * SLOT_HEIGHT;
    const context = sized(this.canvas, width, height + AXIS_HEIGHT);
    const most = weights.reduce((most, weight) => Math.max(most, weight), 0) || 1;
    const column = width / this.columns;
    for (let slot = 0; slot < weights.length; slot++) {
      const x = Math.floor(slot / inColumn) * column;
      const y = height - ((slot % inColumn) + 1) * SLOT_HEIGHT;
      const isSelected = slot >= this.from && slot <= this.to;
      const share = weights[slot] / most;
      context.fillStyle = weights[slot] === 0 ? "rgba(128,128,128,0.12)" : `hsl(${50 - 45 * share} 95% ${78 - 38 * share}%)`;
      context.globalAlpha = isSelected ? 1 : 0.25;
      context.fillRect(x, y, Math.max(column - 0.5, 0.5), SLOT_HEIGHT - 0.5);
    }
    context.globalAlpha = 1;
    drawAxis(context, { from: 0, to: this.columns * inColumn * length, left: 0, width, y: height, lines: 0 });
  }
}

