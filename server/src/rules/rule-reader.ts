import type { Database } from "../storage/query.ts";
import type { RootScan, RuleReads } from "./rule.ts";
import { RuleRepository } from "./rule-repository.ts";
import type { EndedRoots } from "./sqlite/ended-roots.ts";

/** Reads rules, and the root runs to which they may apply. */
export class RuleReader extends RuleRepository implements RuleReads {
  readonly #roots: EndedRoots;

  constructor(db: Database, roots: EndedRoots) {
    super(db, roots);
    this.#roots = roots;
  }

  async scanRoots(nowMicros: number): Promise<RootScan> {
    return this.#roots.scan(nowMicros);
  }
}
