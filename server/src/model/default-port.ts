/** Port of the local server where none is given. */
export const defaultPort = 1984;

/** Longest time for one query where no other is given, in milliseconds. */
export const defaultQueryTimeoutMs = 10_000;
