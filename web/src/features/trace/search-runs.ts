import type { TraceModel } from "./trace-model.ts";

/** The names and types of a trace's runs in lower case, with one line for each run, in tree order. */
interface SearchText {
  readonly text: string;
  /** For each line, the offset at which the next line begins. */
  readonly ends: Int32Array;
}

/** The text of each trace model, which is built once and then used by every search. */
const searchTexts = new WeakMap<TraceModel, SearchText>();

/**
 * Returns the indexes, in tree order, of the runs whose name or type contains the text in any case, or whose id is the
 * text.
 */
export function searchRuns(model: TraceModel, text: string): readonly number[] {
  const needle = text.trim().toLowerCase();
  if (needle === "" || needle.includes("\n")) {
    return [];
  }
  const run = model.indexById.get(needle);
  if (run !== undefined) {
    return [run];
  }
  const searchText = searchTexts.get(model) ?? createSearchText(model);
  searchTexts.set(model, searchText);
  const matches: number[] = [];
  let lineIndex = 0;
  for (let offset = searchText.text.indexOf(needle); offset >= 0;) {
    while ((searchText.ends[lineIndex] ?? 0) <= offset) {
      lineIndex += 1;
    }
    matches.push(model.order[lineIndex] ?? 0);
    offset = searchText.text.indexOf(needle, searchText.ends[lineIndex]);
  }
  return matches;
}

function createSearchText({ count, order, names, types }: TraceModel): SearchText {
  const lines: string[] = [];
  const ends = new Int32Array(count);
  let end = 0;
  for (let lineIndex = 0; lineIndex < count; lineIndex += 1) {
    const run = order[lineIndex] ?? 0;
    const line = `${names[run]} ${types[run]}`.toLowerCase().replaceAll("\n", " ");
    lines.push(line);
    end += line.length + 1;
    ends[lineIndex] = end;
  }
  return { text: lines.join("\n"), ends };
}
