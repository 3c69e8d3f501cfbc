/** Least number of characters of a shortened text that keeps its end. */
const MIN_WITH_END = 5;

/** By text: the number of characters at its start that another of the texts has, too. */
const sharedStarts = (texts) => {
  const sorted = [...new Set(texts)].sort();
  const starts = new Map(sorted.map((text) => [text, 0]));
  for (let i = 1; i < sorted.length; i++) {
    const [before, text] = [sorted[i - 1], sorted[i]];
    let length = 0;
    while (length < before.length && before[length] === text[length]) length++;
    starts.set(before, Math.max(starts.get(before), length));
    starts.set(text, length);
  }
  return starts;
};

/**
 * A text, shortened to a width in pixels: cut at the right or, if another text begins with all that is left, in the middle, since
 * names of one namespace or class differ at their end.
 */
const fitted = (context, text, room, sharedStart = 0) => {
  // No character is narrower than 2 pixels, so names of thousands of characters are not measured whole.
  const start = text.slice(0, Math.ceil(room / 2));
  const { width } = context.measureText(start);
  if (width <= room && start.length === text.length) return text;
  const count = Math.max(Math.floor((start.length * Math.min(room, width)) / width) - 2, 1);
  if (count > sharedStart || count < MIN_WITH_END) return `${text.slice(0, count)}…`;
  const end = Math.ceil((count * 2) / 3);
  return `${text.slice(0, count - end)}…${text.slice(-end)}`;
};

