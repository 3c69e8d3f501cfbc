/** Colors of a ratio as red, green and blue: at most a quarter of that of all samples, as that, at least four times as much. */
const RATIO_COLORS = [[90, 150, 215], [245, 245, 245], [238, 135, 50]];
/** Color of frames with too few samples. */
const FEW_COLOR = "#b4b4b4";

/** The ratio of two events by which frames are colored. `sides` are value and samples of the numerator and the denominator. */
class Ratio {
  constructor([title, above, below, factor], minSamples) {
    Object.assign(this, { title, above, below, factor, minSamples });
  }

  /** Adds the samples of a row to the sides of a node. */
  count(sides, node, event, value, samples) {
    if (event === this.above) {
      sides[0][node] += value;
      sides[1][node] += samples;
    }
    if (event === this.below) {
      sides[2][node] += value;
      sides[3][node] += samples;
    }
  }

  /** The ratio; `null` if an event has too few samples. */
  value([above, aboveSamples, below, belowSamples]) {
    return Math.min(aboveSamples, belowSamples) < this.minSamples || below === 0 ? null : (above / below) * this.factor;
  }

  text(sides) {
    const value = this.value(sides);
    return value === null ? `- (fewer than ${this.minSamples} samples)` : value.toPrecision(3);
  }

  /** The color of a ratio compared with that of all samples, by magnitude: half as much is as far from it as twice as much. */
  color(sides, whole) {
    const [value, middle] = [this.value(sides), this.value(whole)];
    if (value === null || middle === null) return FEW_COLOR;
    const share = middle === 0 ? 0 : Math.max(-1, Math.min(Math.log2(value / middle) / 2, 1));
    const [low, medium, high] = RATIO_COLORS;
    const end = share < 0 ? low : high;
    return `rgb(${medium.map((part, i) => Math.round(part + (end[i] - part) * Math.abs(share))).join()})`;
  }

  /** Shows what the colors mean. */
  showLegend(legend, whole) {
    const middle = this.value(whole);
    legend.hidden = false;
    const value = (factor) => (middle === null ? "-" : (middle * factor).toPrecision(3));
    const swatch = (className) => Object.assign(document.createElement("i"), { className });
    const scale = element("b", null, `${value(1 / 4)} or less `, swatch("scale"), ` ${value(4)} or more`);
    const few = element("b", null, swatch("few"), ` fewer than ${this.minSamples} samples`);
    legend.replaceChildren(`${this.title}: `, scale, `, white: ${value(1)} as of all; `, few);
  }
}

