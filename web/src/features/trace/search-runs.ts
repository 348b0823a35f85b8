import type { TraceModel } from "./trace-model.ts";

/** Names and types of a trace in lower case, a line for each run in the order of the tree. */
interface Haystack {
  readonly text: string;
  /** Where each line ends. */
  readonly ends: Int32Array;
}

/** Made once for each trace: a search is then one walk through one text. */
const haystacks = new WeakMap<TraceModel, Haystack>();

/** Places of the runs whose name, type or id holds a text, in either case, in the order of the tree. */
export function searchRuns(model: TraceModel, text: string): readonly number[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "" || wanted.includes("\n")) {
    return [];
  }
  const run = model.indexById.get(wanted);
  if (run !== undefined) {
    return [run];
  }
  const haystack = haystacks.get(model) ?? makeHaystack(model);
  haystacks.set(model, haystack);
  const found: number[] = [];
  let rank = 0;
  for (let at = haystack.text.indexOf(wanted); at >= 0;) {
    while ((haystack.ends[rank] ?? 0) <= at) {
      rank += 1;
    }
    found.push(model.order[rank] ?? 0);
    at = haystack.text.indexOf(wanted, haystack.ends[rank]);
  }
  return found;
}

function makeHaystack({ count, order, names, types }: TraceModel): Haystack {
  const lines: string[] = [];
  const ends = new Int32Array(count);
  let end = 0;
  for (let rank = 0; rank < count; rank += 1) {
    const run = order[rank] ?? 0;
    const line = `${names[run]} ${types[run]}`.toLowerCase().replaceAll("\n", " ");
    lines.push(line);
    end += line.length + 1;
    ends[rank] = end;
  }
  return { text: lines.join("\n"), ends };
}
