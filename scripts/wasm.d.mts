type Numbers = Readonly<Record<string, number>>;

/** What both sides know of a tape: numbers, and groups of numbers. */
export type Layout = Readonly<Record<string, number | Numbers>>;

/** The text of src/workers/json/json-module.ts. */
export function renderModule(layout: Layout): Promise<string>;

/** The text of server/src/runs/ingest/walk-module.ts. */
export function renderWalk(layout: Layout): Promise<string>;
