/** Whether a file is not there, which is no failure to whoever asks. */
export const isFileMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ENOENT";
