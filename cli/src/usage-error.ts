/** The command was given an option it can't take; exit code 2. */
export class UsageError extends Error {}
