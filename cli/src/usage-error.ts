/** The command was called with an invalid option or argument; exit code 2. */
export class UsageError extends Error {}
