import { isId, toSearchText } from "../../api/parse.ts";

/** What the address of a queue's page selects. */
export interface QueueSearch {
  /** The place of the run under review. */
  readonly run?: string;
  /** The list of its runs instead of the review. */
  readonly view?: "runs";
}

/** Reads the query of an address; what is none is left out. */
export function parseQueueSearch(search: Readonly<Record<string, unknown>>): QueueSearch {
  const { run, view } = search;
  return {
    ...(isId(run) ? { run } : {}),
    ...(view === "runs" ? { view } : {}),
  };
}

/** What the address of the list of queues narrows it by. */
export interface QueuesSearch {
  readonly name?: string;
}

export function parseQueuesSearch({ name }: Readonly<Record<string, unknown>>): QueuesSearch {
  const text = toSearchText(name);
  return text === undefined ? {} : { name: text };
}
