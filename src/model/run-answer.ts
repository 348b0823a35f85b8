import { Fields } from "./fields.ts";
import type { WireRun } from "./run.ts";

/**
 * A run as the server answers it, its members as they are.
 *
 * @throws {@link AnswerError} it is not a run.
 */
export function parseRun(value: unknown): WireRun {
  new Fields(value, "run").text("id");
  return value as WireRun;
}
