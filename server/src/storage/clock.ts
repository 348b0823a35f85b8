/** Returns the current time in microseconds since the Unix epoch. */
export type Clock = () => number;

export const microsNow: Clock = () => Date.now() * 1_000;
