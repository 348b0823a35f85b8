import { ownRun } from "./foreign-run.ts";
import type { RunTree } from "./run-tree.ts";

export class LangsmithBridge {
  readonly [ownRun]: RunTree;
  readonly id: string;
  constructor(run: RunTree, _from: { readonly outer: unknown }) {
    this[ownRun] = run;
    this.id = run.id;
  }
}
