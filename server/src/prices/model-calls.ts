import { isModelCall, roundCost } from "../runs/usage/run-cost.ts";
import type { CostBasis } from "../runs/usage/run-cost.ts";
import type { Database } from "../storage/query.ts";
import { modelCallQueries } from "./model-call-queries.ts";
import type { CostRow } from "./model-call-queries.ts";
import type { ModelCalls, ModelCallGroup, ModelCallSearch } from "./price.ts";

/** Number of runs that one query reads. The time limit is checked after each query. */
const runsPerQuery = 2_000;
/** Maximum number of projects that are read: those with the latest runs. */
const maxProjects = 1_000;
/** Maximum number of groups that are listed. Calls of further groups are only counted. */
const maxGroups = 300;
/** Longer names of models are cut. */
const maxNameChars = 200;

/** Where reading the runs of a project continues: before the run with this start time and id. */
interface ProjectPosition {
  readonly projectId: string;
  readonly micros: number;
  readonly id: string;
}

/** A text that is sorted after every id. */
const lastId = "~";

/**
 * Counts the model calls of a tenant, grouped by the price that applied to them, until `withinMs` has passed. The calls
 * of each project are read from the newest to the oldest. Projects take turns, so that a large one does not use up the
 * time of the others.
 */
export async function readModelCalls(
  db: Database,
  tenantId: string,
  { sinceMicros, withinMs }: ModelCallSearch,
): Promise<ModelCalls> {
  const endMs = performance.now() + withinMs;
  const projects = await db.all(modelCallQueries.listProjects, {
    tenantId,
    limit: maxProjects + 1,
  });
  const tally = new CallTally();
  const waiting: ProjectPosition[] = projects
    .slice(0, maxProjects)
    .flatMap(({ id, latest_us: micros }) =>
      micros !== null && micros >= sinceMicros ? [{ projectId: id, micros, id: lastId }] : [],
    );
  let isLate = false;
  for (
    let position = waiting.shift();
    position !== undefined;
    position = isLate ? undefined : waiting.shift()
  ) {
    const { projectId, micros, id } = position;
    const rows = await db.all(modelCallQueries.list, {
      projectId,
      sinceMicros,
      beforeMicros: micros,
      beforeId: id,
      limit: runsPerQuery,
    });
    rows.forEach((row) => tally.add(row));
    const lastRow = rows.at(-1);
    if (lastRow !== undefined && rows.length === runsPerQuery) {
      waiting.push({ projectId, micros: lastRow.start_us, id: lastRow.id });
    }
    isLate = performance.now() > endMs;
  }
  return {
    groups: tally.list(),
    otherCalls: tally.otherCalls,
    isComplete: waiting.length === 0 && projects.length <= maxProjects,
  };
}

/** Counts model calls in groups. */
class CallTally {
  otherCalls = 0;
  readonly #groups = new Map<string, ModelCallGroup>();

  add(row: CostRow): void {
    if (!isModelCall(row.run_type)) {
      return;
    }
    const facts = readFacts(row);
    const key = JSON.stringify(facts);
    const latestMicros = row.start_us;
    const group = this.#groups.get(key);
    if (group === undefined && this.#groups.size >= maxGroups) {
      this.otherCalls += 1;
      return;
    }
    this.#groups.set(key, {
      ...facts,
      calls: (group?.calls ?? 0) + 1,
      cost: (group?.cost ?? 0) + (row.total_cost ?? 0),
      latestMicros: Math.max(group?.latestMicros ?? 0, latestMicros),
    });
  }

  list(): readonly ModelCallGroup[] {
    return [...this.#groups.values()]
      .map((group) => ({ ...group, cost: roundCost(group.cost) }))
      .toSorted((a, b) => b.calls - a.calls || b.latestMicros - a.latestMicros);
  }
}

/** Reads from a row which price applied to a run, or why none did. */
function readFacts(row: CostRow): Pick<ModelCallGroup, "price" | "model" | "provider" | "reason"> {
  const none = { model: null, provider: null, reason: null };
  if (row.cost_json === null) {
    const price = row.total_cost === null ? "no_tokens" : "reported";
    return { ...none, price, model: row.unpriced_model?.slice(0, maxNameChars) ?? null };
  }
  const basis = JSON.parse(row.cost_json) as CostBasis;
  const model = basis.model?.slice(0, maxNameChars) ?? null;
  return "reason" in basis
    ? { ...none, price: "none", model, reason: basis.reason.slice(0, 2 * maxNameChars) }
    : { ...none, price: basis.source, model, provider: basis.provider };
}
