// Apart from payload-source.ts, because the routes need only the names, before the UI shows anything.
export const payloadModes = ["chat", "markdown", "table", "json", "yaml", "raw"] as const;

/** How a value is displayed. */
export type PayloadMode = (typeof payloadModes)[number];
