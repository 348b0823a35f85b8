type Numbers = Readonly<Record<string, number>>;

/** Constants of a byte layout that TypeScript and AssemblyScript share: numbers, and groups of numbers. */
export type Layout = Readonly<Record<string, number | Numbers>>;

/** Renders the source text of src/workers/json/json-module.ts. */
export function renderModule(layout: Layout): Promise<string>;

/** Renders the source text of server/src/runs/ingest/walk-module.ts. */
export function renderWalk(layout: Layout): Promise<string>;
