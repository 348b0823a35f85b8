/** The formats of the log: a JSON object on each line, or text for people to read. */
export const logFormats = ["json", "text"] as const;
export type LogFormat = (typeof logFormats)[number];
