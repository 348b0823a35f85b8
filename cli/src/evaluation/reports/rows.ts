import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { EvaluatedRow } from "millrace/evaluation";
import type { Failure } from "../checks.ts";
import { describeInputs } from "../describe-inputs.ts";
import type { EvaluationView } from "../evaluation-view.ts";

export interface ReportContent {
  readonly views: readonly EvaluationView[];
  readonly failures: readonly Failure[];
}

/** A row of any types. */
export type UntypedRow = EvaluatedRow<unknown, unknown, unknown>;

export type ReadRows = (view: EvaluationView) => AsyncIterable<UntypedRow>;

/** Returns a name for a row: the beginning of its inputs, and the number of its repetition if it is not the first. */
export function describeRow({ inputs, repetition }: UntypedRow): string {
  const shown = describeInputs(inputs);
  return repetition === 1 ? shown : `${shown} (repetition ${repetition})`;
}

/** Reads the rows of an evaluation from the file that the evaluation's process wrote. */
export async function* readRows({ rowsPath }: EvaluationView): AsyncGenerator<UntypedRow, void> {
  if (rowsPath !== undefined) {
    const input = createReadStream(rowsPath, "utf8");
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      yield JSON.parse(line) as UntypedRow;
    }
  }
}
