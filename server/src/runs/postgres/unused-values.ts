import { threadKeys } from "millrace/model";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { encodeText } from "../../storage/postgres/text-encoding.ts";
import { anyFacet, createPairFacet, listThreadIds } from "../facets.ts";
import { listPartitionNames } from "./partitions.ts";

const text = 'TEXT COLLATE "C"';

/**
 * SQL that creates the list of the values of deleted runs. Only these values can have become unused. They are deleted
 * only once a sweep has deleted all expired runs, so the list must survive a restart of the server.
 */
export const valueCandidateTables = `
  CREATE TABLE run_facet_candidates (
    tenant_id ${text} NOT NULL DEFAULT current_setting('millrace.tenant'), project_id ${text} NOT NULL,
    facet ${text} NOT NULL,
    PRIMARY KEY (tenant_id, project_id, facet)
  );
`;

/** Maximum number of listed values that one step examines. */
const candidatesPerStep = 500;

/**
 * Number of the oldest runs, and of the latest runs, of a project that are read before an index is searched: most
 * values in use are found among these runs.
 */
const sampledRuns = 500;

/** A value of a project that is suggested for filters: a facet of a run, as it is stored. */
export interface ProjectValue {
  readonly project_id: string;
  readonly facet: string;
}

/**
 * Deletes the values of projects that no run has any more, so that names and tags of deleted runs are not suggested.
 * Also deletes the threads that have no runs any more.
 */
export class UnusedValues {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  /** Lists the values of runs that are about to be deleted. */
  async listValues(tenantId: string, ids: readonly string[]): Promise<readonly ProjectValue[]> {
    const { rows } = await this.#db.query<ProjectValue>(`SELECT ${valuesOfRunsSql}`, [
      tenantId,
      ids,
    ]);
    return rows;
  }

  /** Deletes the given values, except those that a run still has. */
  async deleteUnused(tenantId: string, values: readonly ProjectValue[]): Promise<void> {
    const facetsByProject = new Map<string, string[]>();
    for (const { project_id: projectId, facet } of values) {
      const facets = facetsByProject.get(projectId) ?? [];
      facetsByProject.set(projectId, facets);
      facets.push(facet);
    }
    for (const [projectId, facets] of facetsByProject) {
      await this.#deleteUnused(tenantId, projectId, facets);
    }
  }

  /** Adds the values of runs that are about to be deleted to the list that {@link deleteSome} examines. */
  async addCandidates(tenantId: string, ids: readonly string[]): Promise<void> {
    await this.#db.query(
      `INSERT INTO run_facet_candidates (tenant_id, project_id, facet)
       SELECT $1, v.project_id, v.facet FROM (SELECT ${valuesOfRunsSql}) v ON CONFLICT DO NOTHING`,
      [tenantId, ids],
    );
  }

  /**
   * Examines some of the listed values, and deletes those that no run has any more. After the last value of a project,
   * also deletes the share links of its threads without runs. Returns how many values were examined.
   */
  async deleteSome(): Promise<number> {
    const { rows } = await this.#db.query<ProjectValue & { readonly tenant_id: string }>(
      `DELETE FROM run_facet_candidates c USING (
         SELECT n.tenant_id, n.project_id, n.facet FROM run_facet_candidates n
         WHERE (n.tenant_id, n.project_id) = (SELECT f.tenant_id, f.project_id FROM run_facet_candidates f
           ORDER BY f.tenant_id, f.project_id LIMIT 1)
         ORDER BY n.facet LIMIT ${candidatesPerStep} FOR UPDATE) s
       WHERE c.tenant_id = s.tenant_id AND c.project_id = s.project_id AND c.facet = s.facet
       RETURNING c.tenant_id, c.project_id, c.facet`,
    );
    const [first] = rows;
    if (first === undefined) {
      return 0;
    }
    const { tenant_id: tenantId, project_id: projectId } = first;
    await this.#deleteUnused(
      tenantId,
      projectId,
      rows.map(({ facet }) => facet),
    );
    if (rows.length < candidatesPerStep) {
      await this.#deleteUnusedThreadShares(tenantId, projectId);
    }
    return rows.length;
  }

  async #deleteUnused(
    tenantId: string,
    projectId: string,
    facets: readonly string[],
  ): Promise<void> {
    const used = new Set(await this.#findUsed(tenantId, projectId, facets));
    const unused = facets.filter((facet) => !used.has(facet));
    if (unused.length === 0) {
      return;
    }
    const { rows } = await this.#db.query<{ readonly facet: string }>(
      `DELETE FROM run_facets WHERE tenant_id = $1 AND project_id = $2 AND facet = ANY($3::text[]) RETURNING facet`,
      [tenantId, projectId, unused],
    );
    const threadIds = listThreadIds(rows.map(({ facet }) => facet));
    if (threadIds.length > 0) {
      await this.#db.query(
        "DELETE FROM threads WHERE tenant_id = $1 AND project_id = $2 AND id = ANY($3::text[])",
        [tenantId, projectId, threadIds],
      );
    }
  }

  /**
   * Finds the values that runs of the project have. Frequent values are found among a few runs. The others are searched
   * in the index of each partition, by the name of the partition: in `runs`, PostgreSQL has to hide the rows of other
   * tenants, and then uses no index for operators on lists.
   */
  async #findUsed(
    tenantId: string,
    projectId: string,
    facets: readonly string[],
  ): Promise<readonly string[]> {
    // The left join returns a row for a run without values, too: no rows mean that the project has no runs.
    const { rows: frequent } = await this.#db.query<{ readonly facet: string | null }>(
      `SELECT DISTINCT v.facet FROM (${createSampleSql("ASC")} UNION ALL ${createSampleSql("DESC")}) r
       LEFT JOIN LATERAL unnest(r.facets) v (facet) ON true`,
      [tenantId, projectId],
    );
    const found = new Set(frequent.map(({ facet }) => facet));
    const rest = facets.filter((facet) => !found.has(facet));
    if (frequent.length > 0 && rest.length > 0) {
      // The lock keeps other transactions from removing a partition before the next statement.
      await this.#db.query("LOCK TABLE ONLY runs IN ACCESS SHARE MODE");
      const exists = (await listPartitionNames(this.#db)).map(
        (name) => `EXISTS (SELECT FROM ${name} r
          WHERE r.tenant_id = $1 AND r.project_id = $2 AND r.facets @> ARRAY[c.facet])`,
      );
      const { rows: rare } = await this.#db.execute<{ readonly facet: string }>(
        `SELECT c.facet FROM (SELECT u.facet COLLATE "C" AS facet FROM unnest($3::text[]) u (facet)) c
         WHERE ${exists.join(" OR ")}`,
        [tenantId, projectId, rest],
      );
      rare.forEach(({ facet }) => found.add(facet));
    }
    return facets.filter((facet) => found.has(facet));
  }

  /** Deletes the share links of threads that have no runs left. */
  async #deleteUnusedThreadShares(tenantId: string, projectId: string): Promise<void> {
    const { rows } = await this.#db.query<{ readonly thread_json: string }>(
      "SELECT thread_json FROM thread_shares WHERE tenant_id = $1 AND project_id = $2",
      [tenantId, projectId],
    );
    for (const { thread_json: threadJson } of rows) {
      const threadId = String(JSON.parse(threadJson));
      const facets = threadKeys.map((key) => createPairFacet(key, threadId));
      // A very long thread id has no facet. Any run of the project is then treated as a possible run of the thread.
      const candidateFacets = facets.includes(undefined)
        ? null
        : [anyFacet, ...facets.flatMap((facet) => facet ?? [])].map(encodeText);
      await this.#db.query(
        `DELETE FROM thread_shares WHERE tenant_id = $1 AND project_id = $2 AND thread_json = $3
           AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.tenant_id = $1 AND r.project_id = $2
             AND ($4::text[] IS NULL OR r.facets && $4::text[]))`,
        [tenantId, projectId, threadJson, candidateFacets],
      );
    }
  }
}

/** The oldest or the latest runs of a project. The parameters are the tenant and the project. */
const createSampleSql = (direction: "ASC" | "DESC"): string =>
  `(SELECT facets FROM runs WHERE tenant_id = $1 AND project_id = $2
    ORDER BY start_us ${direction}, id ${direction} LIMIT ${sampledRuns})`;

/** The distinct values of the runs with these ids. The parameters are the tenant and the ids. */
const valuesOfRunsSql = `DISTINCT r.project_id, v.facet FROM run_keys k
  JOIN runs r ON r.tenant_id = k.tenant_id AND r.trace_id = k.trace_id AND r.id = k.id AND r.root_us = k.root_us
  CROSS JOIN LATERAL unnest(r.facets) v (facet) WHERE k.tenant_id = $1 AND k.id = ANY($2::text[])`;
