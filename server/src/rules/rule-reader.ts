import type { Database } from "../storage/query.ts";
import type { RootScan, RuleReads, RuleRoots } from "./rule.ts";
import { RuleRepository } from "./rule-repository.ts";

/** Reads rules, and the root runs to which they may apply. */
export class RuleReader extends RuleRepository implements RuleReads {
  readonly #roots: RuleRoots;

  constructor(db: Database, roots: RuleRoots) {
    super(db, roots);
    this.#roots = roots;
  }

  async scanRoots(nowMicros: number): Promise<RootScan> {
    return this.#roots.scan(nowMicros);
  }
}
