// Not in payload-source.ts: the routes need only these names, and load before the UI shows anything.
export const payloadModes = ["chat", "markdown", "table", "json", "yaml", "raw"] as const;

/** How a value is displayed. */
export type PayloadMode = (typeof payloadModes)[number];
