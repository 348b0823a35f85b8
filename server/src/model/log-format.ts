/** The formats of the log: an object of JSON in each line, or words that a person reads. */
export const logFormats = ["json", "text"] as const;
export type LogFormat = (typeof logFormats)[number];
