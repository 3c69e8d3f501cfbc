/** Height of an axis in pixels. */
const AXIS_HEIGHT = 18;
/** Least distance between the labels of an axis in pixels. */
const TICK_DISTANCE = 90;

/** A time in nanoseconds, exact to a step, in the unit of the longest time beside it. */
const timeText = (time, step, longest) => {
  const [unit, name] = longest >= 1e9 ? [1e9, "s"] : longest >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  return `${(time / unit).toFixed(Math.min(digits, 9))} ${name}`;
};

/** Round times between two, at most one for each distance of labels. */
const ticks = (from, to, width) => {
  const least = ((to - from) * TICK_DISTANCE) / Math.max(width, TICK_DISTANCE);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
  const times = [];
  for (let i = Math.ceil(from / step); i * step <= to; i++) times.push(i * step);
  return { step, times };
};

/** The color of a variable of the style sheet. */
const styleColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Draws an axis of times between two x at a y, and lines of this height below it. */
const drawAxis = (context, { from, to, left, width, y, lines }) => {
  const { step, times } = ticks(from, to, width);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const time of times) {
    const x = left + ((time - from) / (to - from)) * width;
    context.fillStyle = styleColor("--line");
    context.fillRect(x, y, 1, lines > 0 ? lines : 4);
    context.fillStyle = styleColor("--soft");
    const text = timeText(time, step, to);
    if (x + 4 + context.measureText(text).width <= left + width) context.fillText(text, x + 4, y + AXIS_HEIGHT / 2);
  }
};

/** Sets the size of a canvas in CSS pixels; returns its context. */
const sized = (canvas, width, height) => {
  const ratio = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return context;
};

/** The span of intervals that an arrow key selects: it moves the span by a step, or with Shift its end. `null` for other keys. */
const moveSpan = (event, [from, to], [first, last], step) => {
  const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!direction || event.ctrlKey || event.metaKey || event.altKey) return null;
  if (to === Infinity) return direction > 0 ? [first, Math.min(first + step - 1, last)] : [Math.max(last - step + 1, first), last];
  if (event.shiftKey) return [from, Math.min(Math.max(to + direction * step, from), last)];
  const shift = direction > 0 ? Math.min(step, last - to) : -Math.min(step, from - first);
  return [from + shift, to + shift];
};

