import { dayMicros } from "../../model/durations.ts";
import { RequestError } from "../../model/errors.ts";
import type {
  FindExpiry,
  RetentionEngine,
  RetentionRule,
  RetentionWrites,
  SweepStep,
} from "./retention.ts";
import { retentionQueries } from "./retention-queries.ts";
import { createRuleKey, RetentionRules } from "./retention-rules.ts";
import type { Database } from "../../storage/query.ts";
import { idOf } from "../../storage/row-keys.ts";

/** Maximum number of projects that one step checks. */
const projectsPerStep = 200;

/** Stores the retention rules, and deletes the runs that have expired under them. */
export class RetentionWriter implements RetentionWrites {
  readonly #db: Database;
  readonly #rules: RetentionRules;
  readonly #engine: RetentionEngine;

  constructor(db: Database, engine: RetentionEngine) {
    this.#db = db;
    this.#rules = new RetentionRules(db);
    this.#engine = engine;
  }

  async set(tenantId: string, { projectId, days }: RetentionRule): Promise<void> {
    if (projectId !== null) {
      const project = { id: projectId, tenantId };
      if ((await this.#db.first(retentionQueries.findProject, project)) === undefined) {
        throw new RequestError(404, "Session not found");
      }
    }
    await this.#db.run(retentionQueries.set, {
      key: createRuleKey(tenantId, projectId),
      value: days === null ? "" : String(days),
    });
  }

  async clear(tenantId: string, projectId: string | null): Promise<void> {
    await this.#db.run(retentionQueries.clear, { key: createRuleKey(tenantId, projectId) });
  }

  async sweep(nowMicros: number, fromProjectKey: string | null): Promise<SweepStep> {
    const { sharedTexts, weeks } = this.#engine;
    const from = fromProjectKey ?? "";
    // Data that belonged to deleted runs is deleted even if there are no rules. A step that deletes texts deletes no
    // runs: on PostgreSQL, the step has locked these texts, and a transaction that locks both must lock the runs first.
    if ((await sharedTexts.deleteUnused()) > 0) {
      return { deleted: 0, next: from };
    }
    const removedCount = await weeks?.deleteRemoved();
    if (removedCount !== undefined) {
      return { deleted: removedCount, next: from };
    }
    if ((await this.#db.first(retentionQueries.findAnyRule, {})) === undefined) {
      return this.#deleteUnusedValues(from);
    }
    const findExpiry = this.#createExpiryLookup(nowMicros);
    if ((await weeks?.removeWeek(findExpiry, from === "")) === true) {
      return { deleted: 0, next: from };
    }
    const page = { from, limit: projectsPerStep };
    const projects = await this.#db.all(retentionQueries.listProjects, page);
    for (const { id, tenant_id: tenantId } of projects) {
      const beforeMicros = await findExpiry(tenantId, id);
      const deletedCount =
        beforeMicros === null ? 0 : await this.#engine.runs.deleteSome(tenantId, id, beforeMicros);
      if (deletedCount > 0) {
        // The next step continues with this project, which may have more expired runs.
        return { deleted: deletedCount, next: id };
      }
    }
    const lastProject = projects.at(-1);
    const next = lastProject === undefined ? from : `${lastProject.id}${afterKeySuffix}`;
    return projects.length < projectsPerStep
      ? this.#deleteUnusedValues(next)
      : { deleted: 0, next };
  }

  /**
   * Called once no expired run is left: deletes values that only deleted runs had. The sweep ends once no such value is
   * left.
   */
  async #deleteUnusedValues(next: string): Promise<SweepStep> {
    const examined = (await this.#engine.values?.deleteSome()) ?? 0;
    return { deleted: 0, next: examined > 0 ? next : null };
  }

  #createExpiryLookup(nowMicros: number): FindExpiry {
    const rulesByTenant = new Map<string, ReadonlyMap<string | null, number | null>>();
    return async (tenantId, key) => {
      const projectId = idOf(key);
      const rules =
        rulesByTenant.get(tenantId) ??
        new Map((await this.#rules.list(tenantId)).map((rule) => [rule.projectId, rule.days]));
      rulesByTenant.set(tenantId, rules);
      const days =
        rules.get(projectId) ?? (rules.has(projectId) ? null : (rules.get(null) ?? null));
      return days === null ? null : nowMicros - days * dayMicros;
    };
  }
}

/**
 * Suffix for a project's key. The key with this suffix sorts directly after the key itself: before every key that
 * follows it, including the qualified key `<id>/<tenant id>`.
 */
const afterKeySuffix = "!";
