/** State of the page. The fragment of its address contains it, so that a link shows the same, and Back returns to it. */
const DEFAULTS = { view: "flame", event: "0", group: "none", thread: "", search: "", zoom: "", reverse: "", names: "", from: "", to: "", window: "", sort: "self", function: "", weight: "value", color: "" };
const state = { ...DEFAULTS };

const readState = () => {
  Object.assign(state, DEFAULTS);
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) if (key in DEFAULTS) state[key] = value;
};

/** Writes the state to the address, as a new entry of the history unless it replaces the latest. */
const writeState = (isReplacing) => {
  const given = Object.entries(state).filter(([key, value]) => String(value) !== DEFAULTS[key]);
  const fragment = given.length > 0 ? `#${new URLSearchParams(given)}` : "";
  if (fragment === location.hash) return;
  const address = fragment || location.pathname + location.search;
  if (isReplacing) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
};

