/** Thrown when a program uses a part of langsmith that this package does not support. */
export class UnsupportedError extends Error {
  override readonly name = "UnsupportedError";
}

/** Creates the error for a name that is not supported. `advice` is a sentence with what to use instead. */
export const createUnsupportedError = (name: string, advice: string): UnsupportedError =>
  new UnsupportedError(
    `${name} is not supported by @millrace/langsmith. ${advice} docs/moving-over.md lists what is not supported.`,
  );
