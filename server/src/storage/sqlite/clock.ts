/** Microseconds since the epoch, now. */
export type Clock = () => number;

export const microsNow: Clock = () => Date.now() * 1_000;
