import MillraceReporter from "millrace/vitest/reporter";
import * as vitestNode from "vitest/node";
import type { DefaultReporter, Vitest } from "vitest/node";

/** Vitest's default reporter. Vitest 3 exports it from another entry point, which vitest 5 does not have. */
const Base = await findDefaultReporter();

async function findDefaultReporter(): Promise<typeof DefaultReporter> {
  const exported: Partial<typeof vitestNode> = vitestNode;
  return exported.DefaultReporter ?? (await import("vitest/reporters")).DefaultReporter;
}

/**
 * Prints what vitest's default reporter prints, and then the scores of each dataset. Use it without another reporter,
 * like langsmith's own: `reporters: ["langsmith/vitest/reporter"]`.
 */
// oxlint-disable-next-line import/no-default-export -- vitest creates the default export of a reporter's module
export default class LangSmithEvalReporter extends Base {
  readonly #scores = new MillraceReporter();

  override onInit(vitest: Vitest): void {
    super.onInit(vitest);
    this.#scores.onInit(vitest);
  }

  override onTestRunEnd(...args: Parameters<DefaultReporter["onTestRunEnd"]>): void {
    super.onTestRunEnd(...args);
    this.#scores.onTestRunEnd(args[0]);
  }
}
