import type { EvaluationProgress } from "millrace/evaluation";
import type { FileMessage, PlainResult } from "./messages.ts";

/** The state of one evaluation of a file, according to the messages of the file's process. */
export interface EvaluationView {
  readonly file: string;
  /** Number of the evaluation in the file, counted from 0. */
  readonly id: number;
  /** The function that was called, such as `evaluate`. */
  readonly call: string;
  /** Name of the experiment, once it is known. */
  name?: string;
  url?: string | undefined;
  progress?: EvaluationProgress;
  totalCost?: number | undefined;
  /** Present when the evaluation has ended. */
  result?: PlainResult;
  /** Why the evaluation failed as a whole. */
  failure?: string;
  /** Path of a file with the rows as JSON lines, if a report needs them. */
  rowsPath?: string | undefined;
  /** The beginnings of the inputs of examples with regressions, by the examples' ids. */
  regressedInputs?: Readonly<Record<string, string>>;
}

/** The evaluations of a file, updated by the messages of the file's process. */
export class FileViews {
  readonly #file: string;
  readonly #views = new Map<number, EvaluationView>();

  constructor(file: string) {
    this.#file = file;
  }

  get list(): readonly EvaluationView[] {
    return [...this.#views.values()];
  }

  /** Applies a message. Returns the evaluation that the message concerns, if any. */
  apply(message: FileMessage): EvaluationView | undefined {
    if (message.type === "started") {
      const { id, call } = message;
      const view = { file: this.#file, id, call };
      this.#views.set(id, view);
      return view;
    }
    if (!("id" in message)) {
      return undefined;
    }
    const view = this.#views.get(message.id);
    if (view === undefined) {
      return undefined;
    }
    switch (message.type) {
      case "experiment":
        view.name = message.name;
        view.url = message.url;
        break;
      case "progress":
        view.progress = message.progress;
        view.totalCost = message.totalCost;
        break;
      case "finished":
        view.result = message.result;
        view.progress = message.result;
        view.totalCost = message.result.totalCost;
        view.rowsPath = message.rowsPath;
        view.regressedInputs = message.regressedInputs;
        break;
      case "failed":
        view.failure = message.message;
        break;
      case "row":
        break;
    }
    return view;
  }
}

/** Returns the name under which an evaluation is shown. */
export const getTitle = ({ name, call }: EvaluationView): string => name ?? call;
