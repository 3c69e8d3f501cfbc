/** Height of the bars of waits at the top of a track. */
const WAITS_HEIGHT = 5;
/** Variables of the style sheet with the colors of reasons. */
const STATE_COLORS = { blocked: "--blocked", uninterruptible: "--uninterruptible", preempted: "--preempted" };

const stateColor = (name) => styleColor(STATE_COLORS[name] ?? "--soft");

/** Why threads waited, and when. */
class Waits {
  constructor(names, [threads, states, from, spans, times]) {
    Object.assign(this, { names, threads, states, from, spans, times });
  }

  /** The waits of each of some groups of threads, by the numbers of their groups. */
  byGroup(ids, count) {
    const groups = Array.from({ length: count }, () => []);
    for (let wait = 0; wait < this.times.length; wait++) groups[ids[this.threads[wait]]].push(wait);
    return groups;
  }

  /** Nanoseconds of waits in parts of the time, each of `scale` intervals from `first` on, by reason. */
  bins(waits, first, count, scale) {
    const bins = this.names.map(() => new Float64Array(count));
    for (const wait of waits) {
      const intervals = this.spans[wait] + 1;
      const bin = bins[this.states[wait]];
      // Intervals of a part together: a wait can last for most of the recording.
      for (let at = this.from[wait], end = at + intervals; at < end; ) {
        const part = Math.floor((at - first) / scale);
        const next = Math.min(first + (part + 1) * scale, end);
        if (part >= count) break;
        if (part >= 0) bin[part] += (this.times[wait] * (next - at)) / intervals;
        at = next;
      }
    }
    return bins;
  }

  /** Draws the shares of a time that threads waited, as bars of one reason above the other. */
  draw(context, bins, { left, y, pixels, length, threads }) {
    if (bins.length === 0) return;
    for (let part = 0; part < bins[0].length; part++) {
      let top = y;
      for (let state = 0; state < bins.length; state++) {
        const share = Math.min(bins[state][part] / (length * threads), 1);
        if (share === 0) continue;
        const height = share * WAITS_HEIGHT;
        context.fillStyle = stateColor(this.names[state]);
        context.fillRect(left + part * pixels, top, Math.max(pixels, 1), height);
        top += height;
      }
    }
  }

  /** Shows what the colors mean. */
  showLegend(legend) {
    legend.hidden = this.names.length === 0;
    const swatch = (name) => {
      const swatch = document.createElement("i");
      swatch.style.background = `var(${STATE_COLORS[name] ?? "--soft"})`;
      return swatch;
    };
    legend.replaceChildren("Waits: ", ...this.names.flatMap((name, i) => [i > 0 ? ", " : "", element("b", null, swatch(name), ` ${name}`)]));
  }
}

