import { randomUUID } from "node:crypto";
import { selectRunFields } from "../filter/fields.ts";
import { readSavedFilter } from "../filter/filter-parameter.ts";
import { createMaximumError, RequestError } from "../model/errors.ts";
import { projectQueries } from "../projects/project-queries.ts";
import { microsNow } from "../storage/clock.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/query.ts";
import { idOf } from "../storage/row-keys.ts";
import { ruleLimits } from "./rule.ts";
import type {
  ActionResult,
  ActiveRule,
  DueAction,
  PastRange,
  RootScan,
  Rule,
  RuleChanges,
  RuleDraft,
  RuleError,
  RuleMatches,
  RuleReads,
  RuleWrites,
} from "./rule.ts";
import type { RuleAction } from "./rule-action.ts";
import { cursorQueries, ruleQueries, ruleRunQueries } from "./rule-queries.ts";
import type { RuleRow } from "./rule-tables.ts";

/** What the repository of rules reads from the stored runs. */
export interface RuleRuns {
  /** Returns the row number of the run that was stored last; 0 if there are no runs. */
  latestRow(): Promise<number> | number;
}

/** Reads and writes rules. It does not search for ended roots, because that search depends on the database engine. */
export class RuleRepository implements Omit<RuleReads, "scanRoots">, RuleWrites {
  readonly #db: Database;
  readonly #runs: RuleRuns;
  readonly #clock: Clock;

  constructor(db: Database, runs: RuleRuns, clock: Clock = microsNow) {
    this.#db = db;
    this.#runs = runs;
    this.#clock = clock;
  }

  async list(tenantId: string, projectId: string): Promise<readonly Rule[]> {
    await this.#assertProject(tenantId, projectId);
    const limit = ruleLimits.perProject;
    const rows = await this.#db.all(ruleQueries.list, { tenantId, projectId, limit });
    const rules: Rule[] = [];
    for (const row of rows) {
      rules.push(await this.#toRule(row));
    }
    return rules;
  }

  async find(tenantId: string, id: string): Promise<Rule> {
    return this.#toRule(await this.#findRow(tenantId, id));
  }

  async listActive(): Promise<readonly ActiveRule[]> {
    const rows = await this.#db.all(ruleQueries.listActive, {});
    return rows.map((row) => ({
      ...parseRow(row),
      tenantId: row.tenant_id,
      projectId: idOf(row.project_id),
      fromRow: row.from_row,
    }));
  }

  async listDue(nowMicros: number): ReturnType<RuleReads["listDue"]> {
    const waiting = await this.#db.all(ruleRunQueries.listWaiting, {
      limit: ruleLimits.rulesAtOnce + 1,
    });
    const due: DueAction[] = [];
    for (const { tenant_id: tenantId, rule_id: ruleId, next_us } of waiting) {
      if (next_us <= nowMicros) {
        due.push(await this.findDue(tenantId, ruleId, { nowMicros, limit: ruleLimits.runsAtOnce }));
      }
    }
    const later = waiting.find(({ next_us }) => next_us > nowMicros);
    return { due, nextMicros: later?.next_us ?? null };
  }

  async listWaitingJudges(nowMicros: number): ReturnType<RuleReads["listWaitingJudges"]> {
    const waiting = await this.#db.all(ruleRunQueries.listWaitingJudges, {
      limit: ruleLimits.judgingRules,
    });
    return waiting
      .filter(({ next_us }) => next_us <= nowMicros)
      .map(({ tenant_id: tenantId, rule_id: ruleId }) => ({ tenantId, ruleId }));
  }

  async findDue(
    tenantId: string,
    ruleId: string,
    { nowMicros, limit }: { readonly nowMicros: number; readonly limit: number },
  ): Promise<DueAction> {
    const row = await this.#findRow(tenantId, ruleId);
    const { name, action } = parseRow(row);
    const key = { tenantId, ruleId };
    const runs = await this.#db.all(ruleRunQueries.listDue, { ...key, nowMicros, limit });
    return {
      ...key,
      ruleName: name,
      projectId: idOf(row.project_id),
      action,
      runs: runs.map(({ run_id: id, attempts }) => ({ id, attempts })),
    };
  }

  async create(tenantId: string, projectId: string, draft: RuleDraft): Promise<Rule> {
    await this.#assertProject(tenantId, projectId);
    const limit = ruleLimits.perProject;
    const existing = await this.#db.all(ruleQueries.list, { tenantId, projectId, limit });
    if (existing.length >= limit) {
      throw createMaximumError("project", `${limit} rules`);
    }
    const row: RuleRow = {
      tenant_id: tenantId,
      id: randomUUID(),
      project_id: projectId,
      name_json: JSON.stringify(draft.name),
      filter_json: JSON.stringify(draft.filter),
      sampling_rate: draft.samplingRate,
      action_json: storeAction(draft.action),
      is_enabled: 1,
      paused_json: null,
      created_us: this.#clock(),
      from_row: await this.#beginSearch(),
      matched: 0,
      applied: 0,
      failed: 0,
      past_json: null,
    };
    await this.#db.run(ruleQueries.insert, row);
    return this.#toRule(row);
  }

  async update(tenantId: string, id: string, changes: RuleChanges): Promise<Rule> {
    const row = await this.#findRow(tenantId, id);
    const rule = { ...parseRow(row), ...changes };
    const isNewlyEnabled = rule.isEnabled && row.is_enabled === 0;
    await this.#db.run(ruleQueries.update, {
      tenant_id: tenantId,
      id,
      name_json: JSON.stringify(rule.name),
      filter_json: JSON.stringify(rule.filter),
      sampling_rate: rule.samplingRate,
      action_json: storeAction(rule.action),
      is_enabled: Number(rule.isEnabled),
      paused_json: isNewlyEnabled ? null : row.paused_json,
      from_row: isNewlyEnabled ? await this.#beginSearch() : row.from_row,
      past_json: rule.isEnabled ? row.past_json : null,
    });
    return this.find(tenantId, id);
  }

  async delete(tenantId: string, id: string): Promise<void> {
    if ((await this.#db.run(ruleQueries.delete, { tenantId, id })) === 0) {
      throw createNotFound();
    }
    await this.#db.run(ruleRunQueries.deleteOfRule, { tenantId, ruleId: id });
  }

  async beginPast(
    tenantId: string,
    id: string,
    { fromMicros, toMicros }: { readonly fromMicros: number; readonly toMicros: number },
  ): Promise<Rule> {
    const row = await this.#findRow(tenantId, id);
    if (row.is_enabled === 0) {
      throw new RequestError(409, "The rule is disabled. Enable it before applying it.");
    }
    if (row.past_json !== null) {
      throw new RequestError(
        409,
        "The rule is already being applied to past runs. Wait, or cancel it first.",
      );
    }
    const past: PastRange = { fromMicros, toMicros, positionMicros: fromMicros, positionId: "" };
    await this.#setPast(tenantId, id, past);
    return this.find(tenantId, id);
  }

  async endPast(tenantId: string, id: string): Promise<Rule> {
    await this.#findRow(tenantId, id);
    await this.#setPast(tenantId, id, null);
    return this.find(tenantId, id);
  }

  async retry(tenantId: string, id: string): Promise<number> {
    await this.#findRow(tenantId, id);
    const nowMicros = this.#clock();
    const retried = await this.#db.run(ruleRunQueries.retryFailed, {
      tenantId,
      ruleId: id,
      nowMicros,
    });
    await this.#addCounts(tenantId, id, { failed: -retried });
    return retried;
  }

  async pause(tenantId: string, id: string, reason: string): Promise<void> {
    const row = await this.#findRow(tenantId, id);
    await this.#db.run(ruleQueries.update, {
      ...row,
      is_enabled: 0,
      paused_json: JSON.stringify(reason.slice(0, ruleLimits.errorChars)),
      past_json: null,
    });
  }

  async advance(
    { toRow, opened, closed, expired }: Omit<RootScan, "ended">,
    matches: readonly RuleMatches[],
  ): Promise<number> {
    await this.#db.run(cursorQueries.set, { row: toRow });
    await this.#db.run(ruleQueries.limitFromRows, { row: await this.#runs.latestRow() });
    const sinceMicros = this.#clock();
    for (const { row, key } of opened) {
      await this.#db.run(cursorQueries.addOpen, { row, key, sinceMicros });
    }
    for (const row of [...closed, ...expired]) {
      await this.#db.run(cursorQueries.removeOpen, { row });
    }
    for (const match of matches) {
      await this.#addMatches(match);
    }
    return opened.length === 0
      ? 0
      : this.#db.run(cursorQueries.limitOpen, { limit: ruleLimits.openRoots });
  }

  async advancePast(
    matches: RuleMatches,
    position: Pick<PastRange, "positionMicros" | "positionId"> | null,
  ): Promise<void> {
    const { tenantId, ruleId } = matches;
    const row = await this.#findRow(tenantId, ruleId);
    const { past } = parseRow(row);
    // The user may have stopped applying the rule to past runs while the runs were read.
    if (past === null) {
      return;
    }
    await this.#addMatches(matches);
    await this.#setPast(tenantId, ruleId, position && { ...past, ...position });
  }

  async record(results: readonly ActionResult[]): Promise<void> {
    const atMicros = this.#clock();
    for (const { tenantId, ruleId, runId, error, nextMicros } of results) {
      const failedState = nextMicros === null ? failed : waiting;
      const changed = await this.#db.run(ruleRunQueries.record, {
        tenant_id: tenantId,
        rule_id: ruleId,
        run_id: runId,
        state: error === null ? applied : failedState,
        at_us: atMicros,
        next_us: error === null ? null : nextMicros,
        error_json: error === null ? null : JSON.stringify(error.slice(0, ruleLimits.errorChars)),
      });
      if (changed > 0 && nextMicros === null) {
        await this.#addCounts(tenantId, ruleId, error === null ? { applied: 1 } : { failed: 1 });
      }
    }
  }

  async prune(beforeMicros: number): Promise<void> {
    await this.#db.run(ruleRunQueries.prune, { beforeMicros });
  }

  /**
   * Returns the number of the latest row: a rule that is being enabled applies only to runs after that row. If no other
   * rule is enabled, also moves the cursor of the search to that row, because the search stands still while no rule is
   * enabled.
   */
  async #beginSearch(): Promise<number> {
    const row = await this.#runs.latestRow();
    if ((await this.#db.all(ruleQueries.listActive, {})).length === 0) {
      await this.#db.run(cursorQueries.set, { row });
      await this.#db.run(cursorQueries.clearOpen, {});
    }
    return row;
  }

  async #addMatches({ tenantId, ruleId, runIds }: RuleMatches): Promise<void> {
    const atMicros = this.#clock();
    let matched = 0;
    for (const runId of runIds) {
      matched += await this.#db.run(ruleRunQueries.insert, {
        tenant_id: tenantId,
        rule_id: ruleId,
        run_id: runId,
        state: waiting,
        attempts: 0,
        at_us: atMicros,
        next_us: atMicros,
        error_json: null,
      });
    }
    if (matched > 0) {
      await this.#addCounts(tenantId, ruleId, { matched });
    }
  }

  async #addCounts(
    tenantId: string,
    id: string,
    counts: Partial<Pick<Rule, "matched" | "applied" | "failed">>,
  ): Promise<void> {
    const completeCounts = { matched: 0, applied: 0, failed: 0, ...counts };
    await this.#db.run(ruleQueries.addCounts, { tenantId, id, ...completeCounts });
  }

  async #setPast(tenantId: string, id: string, past: PastRange | null): Promise<void> {
    const past_json = past === null ? null : JSON.stringify(past);
    await this.#db.run(ruleQueries.setPast, { tenant_id: tenantId, id, past_json });
  }

  async #findRow(tenantId: string, id: string): Promise<RuleRow> {
    const row = await this.#db.first(ruleQueries.find, { tenantId, id });
    if (row === undefined) {
      throw createNotFound();
    }
    return row;
  }

  async #toRule(row: RuleRow): Promise<Rule> {
    const key = { tenantId: row.tenant_id, ruleId: row.id, limit: ruleLimits.errors };
    const lastWaiting = await this.#db.all(ruleRunQueries.listWaitingLast, key);
    const failures = await this.#db.all(ruleRunQueries.listFailed, key);
    const failuresToRetry = lastWaiting.filter(({ error_json: json }) => json !== null);
    const lastErrors = [
      ...failuresToRetry,
      ...failures.map((failure) => ({ ...failure, next_us: null })),
    ]
      .slice(0, ruleLimits.errors)
      .map(
        ({ run_id: runId, at_us: atMicros, next_us: nextMicros, error_json: json }): RuleError => ({
          runId,
          atMicros,
          reason: json === null ? "" : (JSON.parse(json) as string),
          nextMicros,
        }),
      );
    return { ...parseRow(row), lastErrors };
  }

  async #assertProject(tenantId: string, projectId: string): Promise<void> {
    const project = await this.#db.first(projectQueries.find, { tenantId, id: projectId });
    if (project === undefined) {
      throw new RequestError(404, "Session not found");
    }
  }
}

const [waiting, applied, failed] = [0, 1, 2];

const createNotFound = (): RequestError => new RequestError(404, "Rule not found");

/** The JSON of an action, with its kind first. */
const storeAction = ({ kind, ...members }: RuleAction): string =>
  JSON.stringify({ kind, ...members });

const parseRow = (row: RuleRow): Omit<Rule, "lastErrors"> => ({
  id: row.id,
  projectId: row.project_id,
  name: JSON.parse(row.name_json) as string,
  filter: readSavedFilter(selectRunFields(true), JSON.parse(row.filter_json) as string),
  samplingRate: row.sampling_rate,
  action: JSON.parse(row.action_json) as RuleAction,
  isEnabled: row.is_enabled === 1,
  pausedReason: row.paused_json === null ? null : (JSON.parse(row.paused_json) as string),
  createdMicros: row.created_us,
  matched: row.matched,
  applied: row.applied,
  failed: row.failed,
  past: row.past_json === null ? null : (JSON.parse(row.past_json) as PastRange),
});
