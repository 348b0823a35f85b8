import { stripVTControlCharacters } from "node:util";
import { describeError } from "../rows/deadline.ts";

/** The message of what was thrown. Never throws. */
export const readMessage = (error: unknown): string =>
  stripVTControlCharacters(
    error instanceof Error && typeof error.message === "string"
      ? error.message
      : describeError(error),
  );
