/** Thrown by a name of langsmith that this package does not support. */
export class UnsupportedError extends Error {
  override readonly name = "UnsupportedError";
}

/** Creates the error for a name that is not supported. `instead` is a sentence with what to use. */
export const createUnsupportedError = (name: string, instead: string): UnsupportedError =>
  new UnsupportedError(
    `${name} is not supported by @millrace/langsmith. ${instead} docs/moving-over.md lists what is not supported.`,
  );
