// The page: recordings are dropped on it, converted in a worker, and shown.

import { Recording, warmUp } from 'perfconv';
import { kindOf } from './kind.js';

/** What "Save as" offers: format, ending, and what it is for. */
const FORMATS = [
  ['pprof', 'pb.gz', 'pprof and what reads its format'],
  ['html', 'html', 'this page, in a file'],
  ['flamegraph', 'svg', 'flame graph image'],
  ['firefox', 'fx.json.gz', 'Firefox Profiler'],
  ['speedscope', 'speedscope.json', 'speedscope'],
  ['perfetto', 'pftrace', 'Perfetto'],
  ['chrome', 'trace.json', 'Chrome trace viewer'],
  ['folded', 'folded', 'folded stacks'],
  ['callgrind', 'callgrind', 'KCachegrind'],
  ['otlp', 'otlp', 'OpenTelemetry'],
  ['report', 'txt', 'functions, as text'],
  ['markdown', 'md', 'functions, for an issue'],
  ['perf-script', 'script', 'text of perf script'],
  ['jsonl', 'jsonl', 'every record, as JSON'],
];

const element = (id) => document.getElementById(id);

/** The files that were dropped, and what is shown of them. */
let state = { recording: undefined, file: undefined, files: {}, abort: undefined };

function show(panel) {
  for (const name of ['start', 'work', 'failure', 'profile', 'save', 'names', 'info']) element(name).hidden = name !== panel;
  for (const tab of element('tabs').children) tab.setAttribute('aria-selected', String(tab.dataset.tab === panel));
}

function fail(error) {
  element('failure').textContent = error.message;
  show('failure');
}

/**
 * Runs a call of the recording with progress and the cancel button, and shows what becomes of it.
 * @param {string} doing what is said meanwhile
 * @param {string} back the panel to show if the call is cancelled
 * @param {(options: object) => Promise<T>} call
 * @param {(result: T) => void} use shows the result
 */
async function work(doing, back, call, use) {
  const abort = new AbortController();
  state.abort = abort;
  element('doing').textContent = doing;
  element('progress').removeAttribute('value');
  show('work');
  try {
    use(await call({
      signal: abort.signal,
      onProgress: ({ work, done, total }) => {
        element('doing').textContent = work;
        if (total) element('progress').value = done / total;
      },
      onMessage: (line) => element('messages').append(`${line}\n`),
    }));
  } catch (error) {
    if (error.name === 'AbortError') show(back);
    else fail(error);
  }
}

/** Ends the warm-up, so that it takes no time from the first recording. */
const warm = new AbortController();
warmUp('html', { signal: warm.signal }).catch(() => {});

/** Takes files: a recording, or files for the one that is open. */
async function take(list) {
  warm.abort();
  const kinds = await Promise.all([...list].map(async (file) => [file, await kindOf(file)]));
  const recordings = kinds.filter(([, kind]) => kind === 'recording').map(([file]) => file);
  const others = kinds.filter(([, kind]) => kind === 'symbols').map(([file]) => [file.name, file]);
  if (recordings.length > 1) {
    fail(new Error(`${recordings.length} recordings: drop one, and the files for its names`));
    return;
  }
  const isNew = recordings.length === 1;
  if (!isNew && !state.file) {
    fail(new Error('drop the recording together with the files for its names'));
    return;
  }
  state.recording?.close();
  state.file = isNew ? recordings[0] : state.file;
  state.files = { ...(isNew ? {} : state.files), ...Object.fromEntries(others) };
  state.recording = new Recording(state.file, { files: state.files });
  element('file').textContent = [state.file.name, ...Object.keys(state.files)].join(', ');
  element('messages').replaceChildren();
  await showProfile();
}

function showProfile() {
  element('tabs').hidden = true;
  return work('reading', 'start', (options) => state.recording.convert('html', options), (page) => {
    const frame = document.createElement('iframe');
    frame.title = 'Profile';
    frame.sandbox = 'allow-scripts allow-downloads allow-popups';
    frame.src = URL.createObjectURL(new Blob([page], { type: 'text/html' }));
    element('profile').replaceChildren(frame);
    element('tabs').hidden = false;
    show('profile');
  });
}

function save(format, ending) {
  const name = `${state.file.name.replace(/\.data$/, '')}.${ending}`;
  const output = ending.endsWith('.gz') || format === 'html' ? name : format;
  return work(`writing ${name}`, 'save', (options) => state.recording.convert(output, options), (bytes) => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([bytes]));
    link.download = name;
    link.click();
    show('save');
  });
}

function showNames() {
  const text = (tag, content) => Object.assign(document.createElement(tag), { textContent: content });
  return work('looking for names', 'profile', (options) => state.recording.missingSymbols(options), (missing) => {
    const { objects, samples, without_function_names: unnamed } = missing;
    const percent = samples ? Math.round((100 * unnamed) / samples) : 0;
    element('names').replaceChildren(text('p', unnamed === 0
      ? 'All samples have the names of their functions.'
      : `${percent} % of the samples have no name for their innermost function. Drop these files on the page:`));
    const table = document.createElement('table');
    table.append(row('th', ['file', 'build ID', 'frames', 'why']));
    for (const object of objects) {
      table.append(row('td', [object.name, object.build_id ?? '', object.frames, object.reason]));
    }
    if (objects.length > 0) element('names').append(table);
    show('names');
  });
}

function row(tag, values) {
  const line = document.createElement('tr');
  line.append(...values.map((value) => Object.assign(document.createElement(tag), { textContent: value })));
  return line;
}

function showInfo() {
  return work('reading', 'profile', (options) => state.recording.info(options), (info) => {
    element('details').textContent = JSON.stringify(info, undefined, 2);
    show('info');
  });
}

const TABS = { profile: () => show('profile'), save: () => show('save'), names: showNames, info: showInfo };
element('tabs').addEventListener('click', ({ target }) => TABS[target.dataset.tab]?.());
for (const [format, ending, purpose] of FORMATS) {
  const item = document.createElement('li');
  const button = Object.assign(document.createElement('button'), { textContent: `${format}: ${purpose}` });
  button.addEventListener('click', () => save(format, ending));
  item.append(button);
  element('formats').append(item);
}
element('cancel').addEventListener('click', () => state.abort?.abort());
element('input').addEventListener('change', ({ target }) => {
  take(target.files).catch(fail);
  target.value = '';
});
// A frame takes what is dropped on it, so that the browser would leave this page. While the pointer is elsewhere, as it is when files are
// dragged from another window, the frame is not in the way.
const setAway = (isAway) => document.body.classList.toggle('away', isAway);
addEventListener('blur', () => setAway(document.activeElement?.tagName !== 'IFRAME'));
document.documentElement.addEventListener('mouseleave', () => setAway(true));
element('profile').addEventListener('mouseleave', () => setAway(true));
addEventListener('mousemove', () => setAway(false));
addEventListener('dragover', (event) => {
  event.preventDefault();
  document.body.classList.add('over');
});
addEventListener('dragleave', () => document.body.classList.remove('over'));
addEventListener('drop', (event) => {
  event.preventDefault();
  document.body.classList.remove('over');
  take(event.dataTransfer.files).catch(fail);
});
