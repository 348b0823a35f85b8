// These names are not in payload-source.ts, because the routes need only them and load before the UI shows anything.
export const payloadModes = ["chat", "markdown", "table", "json", "yaml", "raw"] as const;

/** How a value is displayed. */
export type PayloadMode = (typeof payloadModes)[number];
