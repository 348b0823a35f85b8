import { stripVTControlCharacters } from "node:util";
import { describeError } from "../rows/deadline.ts";

/** Returns the message of a thrown value. Never throws. */
export const readMessage = (error: unknown): string =>
  stripVTControlCharacters(
    error instanceof Error && typeof error.message === "string"
      ? error.message
      : describeError(error),
  );
