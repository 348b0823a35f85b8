/** The states of a run: it ended without an error, it has an error, or it has not ended. */
export const runStatuses = ["success", "error", "pending"] as const;

export type RunStatus = (typeof runStatuses)[number];
