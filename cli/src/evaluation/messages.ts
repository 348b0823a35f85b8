import type {
  CurrentRow,
  EvaluationProgress,
  EvaluationResult,
  RunnerOptions,
} from "millrace/evaluation";

/** The settings of the process that runs a file. */
export interface FileSettings {
  readonly file: string;
  readonly options: Omit<RunnerOptions, "signal">;
  /** Folder for the rows of each evaluation, if a report needs them. */
  readonly rowsFolder?: string;
  /** Whether the process reports the modules that the file loads. */
  readonly reportsModules: boolean;
}

/** The result of an evaluation without the function `readRows`, which can't be sent to another process. */
export type PlainResult = Omit<EvaluationResult<unknown, unknown, unknown>, "readRows">;

/** A message of the process that runs a file. `id` is the number of the evaluation in the file, counted from 0. */
export type FileMessage =
  | { readonly type: "started"; readonly id: number; readonly call: string }
  | {
      readonly type: "experiment";
      readonly id: number;
      readonly name: string;
      readonly url: string | undefined;
    }
  | {
      readonly type: "progress";
      readonly id: number;
      readonly progress: EvaluationProgress;
      readonly totalCost: number | undefined;
    }
  | { readonly type: "row"; readonly id: number; readonly row: CurrentRow }
  | {
      readonly type: "finished";
      readonly id: number;
      readonly result: PlainResult;
      /** Path of a file with the rows as JSON lines, if a report needs them. */
      readonly rowsPath: string | undefined;
      /** The beginnings of the inputs of examples with regressions, by the examples' ids. */
      readonly regressedInputs: Readonly<Record<string, string>>;
    }
  | { readonly type: "failed"; readonly id: number; readonly message: string }
  | { readonly type: "fileFailed"; readonly message: string }
  /** Sent regularly, unless the thread is blocked. */
  | { readonly type: "alive" }
  | { readonly type: "modules"; readonly paths: readonly string[] }
  | { readonly type: "done" };
