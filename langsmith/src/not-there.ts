/** Thrown by a name of langsmith that this package does not have. */
export class NotThereError extends Error {
  override readonly name = "NotThereError";
}

/** Creates the error for a name that is not there; `instead` says what to use. */
export const notThere = (name: string, instead: string): NotThereError =>
  new NotThereError(
    `${name} is not in @millrace/langsmith. ${instead} docs/moving-over.md lists what is there.`,
  );
