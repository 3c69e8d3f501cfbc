/** Height of an interval of the heat map in pixels. */
const SLOT_HEIGHT = 3;

/** A heat map of time: a column for each second or part of it, with its intervals from the bottom. */
class HeatMap {
  constructor(canvas, tree, onSelect) {
    Object.assign(this, { canvas, tree, onSelect, from: 0, to: Infinity, start: null });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.start = this.slot(event);
      this.drag(event);
    });
    canvas.addEventListener("pointermove", (event) => this.start !== null && this.drag(event));
    canvas.addEventListener("pointerup", (event) => {
      if (this.start === null) return;
      this.drag(event);
      this.start = null;
      this.onSelect(this.from, this.to);
    });
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
    const row = clamp((1 - (event.clientY - top) / height) * inColumn, inColumn - 1);
    return Math.min(column * inColumn + row, this.tree.slots - 1);
  }

  draw(weights = this.weights) {
    this.weights = weights;
    const { inColumn } = this.tree.header;
    const width = Math.max(1, this.canvas.parentElement.clientWidth);
    const ratio = window.devicePixelRatio || 1;
    const height = inColumn * SLOT_HEIGHT;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
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
  }
}

