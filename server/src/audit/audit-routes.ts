import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { uiEndpoints } from "millrace/model";
import { auditedActions, describeAction } from "../http/endpoint-audit.ts";
import { createCursorError, readListCursor, toListCursor } from "../http/list-cursor.ts";
import { firstValue, parseBoolean, parseCount, parseTimeParameter } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import type { RequestScoped } from "../http/request-scope.ts";
import { route } from "../http/route.ts";
import { toIso } from "../http/wire-text.ts";
import { auditActorKinds, auditOutcomes } from "../model/audit-entry.ts";
import type { AuditEntry, AuditOutcome } from "../model/audit-entry.ts";
import { RequestError } from "../model/errors.ts";
import { auditLimits } from "./audit.ts";
import type { AuditPosition, AuditQuery, AuditReads } from "./audit.ts";

/** The part of the store that the routes of the audit log use. */
export interface AuditReadStore extends RequestScoped<AuditReadStore> {
  readonly read: { readonly audit: AuditReads };
}

/** What the routes of the audit log depend on. */
export interface AuditRouteDependencies {
  readonly store: AuditReadStore;
  /** Whether the sender of a request may read the entries of all tenants. */
  readonly isOperator: (request: FastifyRequest) => Promise<boolean>;
  /** Days for which entries are kept. */
  readonly auditDays: number;
}

const tag = "server";

const filterDocs = {
  actor: `Only entries of this actor: the id of a key, or a kind of actor (${auditActorKinds.join(", ")}).`,
  action: "Only entries of this action, such as createKey.",
  outcome: `Only entries with this outcome: ${auditOutcomes.join(", ")}.`,
  from: "Only entries from this time on.",
  to: "Only entries before this time.",
  all_tenants: "Whether the entries of all tenants are listed, which only the operator may read.",
};

/** Adds the routes that read the audit log. They need a key with the scope admin. */
export function addUiAuditRoutes(app: FastifyInstance, dependencies: AuditRouteDependencies): void {
  const { store, auditDays } = dependencies;
  app.route({
    ...route(uiEndpoints.listAudit, {
      tag,
      summary: "Lists the entries of the audit log, the latest first.",
      query: {
        ...filterDocs,
        limit: `Maximum number of entries, from 1 to ${auditLimits.pageMax}; default ${auditLimits.pageDefault}.`,
        cursor: "The cursor of the next page, from the previous page.",
      },
    }),
    handler: async (request) => {
      const parameters = request.query as QueryString;
      const { pageDefault, pageMax } = auditLimits;
      const limit = parseCount(parameters, "limit", {
        fallback: pageDefault,
        min: 1,
        max: pageMax,
      });
      const query = { ...(await parseQuery(dependencies, request)), limit };
      const entries = await store.forRequest(request).read.audit.list(request.tenantId, query);
      const lastEntry = entries.length === limit ? entries.at(-1) : undefined;
      return {
        entries: entries.map(toJson),
        next_cursor:
          lastEntry === undefined ? null : toListCursor([lastEntry.atMicros, lastEntry.id]),
        kept_days: auditDays,
        actions: auditedActions.map((name) => ({ name, title: describeAction(name) })),
      };
    },
  });
  app.route({
    ...route(uiEndpoints.exportAudit, {
      tag,
      summary: `Exports entries of the audit log as JSON Lines, the latest first, at most ${auditLimits.exportMax}.`,
      query: filterDocs,
      response: { contents: { "application/x-ndjson": {} } },
    }),
    handler: async (request, reply) => {
      const query = await parseQuery(dependencies, request);
      return reply
        .headers({
          "content-type": "application/x-ndjson; charset=utf-8",
          "content-disposition": 'attachment; filename="audit.jsonl"',
        })
        .send(Readable.from(writeLines(store.forRequest(request), request, query)));
    },
  });
}

/** Reads pages one after the other, so that an export never holds more than one of them in memory. */
async function* writeLines(
  { read }: Pick<AuditReadStore, "read">,
  { tenantId }: FastifyRequest,
  query: Omit<AuditQuery, "limit">,
): AsyncGenerator<string> {
  const { exportMax, pageMax: limit } = auditLimits;
  let after: AuditPosition | undefined;
  for (let count = 0; count < exportMax; count += limit) {
    const entries = await read.audit.list(tenantId, { ...query, after, limit });
    yield entries.map((entry) => `${JSON.stringify(toJson(entry))}\n`).join("");
    after = entries.at(-1);
    if (entries.length < limit) {
      return;
    }
  }
}

/**
 * Reads the filters of a request.
 *
 * @throws RequestError 403: the caller may not read the entries of all tenants. 422: a filter is invalid.
 */
async function parseQuery(
  { isOperator }: AuditRouteDependencies,
  request: FastifyRequest,
): Promise<Omit<AuditQuery, "limit">> {
  const parameters = request.query as QueryString;
  const readsAllTenants = parseBoolean(parameters, "all_tenants") === true;
  if (readsAllTenants && !(await isOperator(request))) {
    throw new RequestError(
      403,
      "only keys of the server's default tenant can read the entries of all tenants: leave out all_tenants",
    );
  }
  return {
    tenantId: readsAllTenants ? undefined : request.tenantId,
    actor: readText(parameters, "actor"),
    action: parseAction(readText(parameters, "action")),
    outcome: parseOutcome(readText(parameters, "outcome")),
    fromMicros: parseTimeParameter(parameters, "from"),
    toMicros: parseTimeParameter(parameters, "to"),
    after: parseCursor(readText(parameters, "cursor")),
  };
}

const readText = (parameters: QueryString, name: string): string | undefined => {
  const text = firstValue(parameters, name);
  return text === "" ? undefined : text;
};

function parseAction(action: string | undefined): string | undefined {
  if (action !== undefined && !auditedActions.includes(action)) {
    throw new RequestError(
      422,
      `action must be one of ${auditedActions.join(", ")}, not ${JSON.stringify(action.slice(0, 80))}`,
    );
  }
  return action;
}

function parseOutcome(text: string | undefined): AuditOutcome | undefined {
  const outcome = auditOutcomes.find((name) => name === text);
  if (text !== undefined && outcome === undefined) {
    throw new RequestError(
      422,
      `outcome must be one of ${auditOutcomes.join(", ")}, not ${JSON.stringify(text.slice(0, 80))}`,
    );
  }
  return outcome;
}

function parseCursor(cursor: string | undefined): AuditPosition | undefined {
  if (cursor === undefined) {
    return undefined;
  }
  const [atMicros, id] = readListCursor(cursor);
  if (typeof atMicros !== "number" || typeof id !== "string") {
    throw createCursorError(cursor);
  }
  return { atMicros, id };
}

const toJson = (entry: AuditEntry) => ({
  id: entry.id,
  time: toIso(entry.atMicros),
  tenant_id: entry.tenantId,
  actor: entry.actor,
  address: entry.address,
  action: entry.action,
  title: describeAction(entry.action),
  target: entry.target,
  outcome: entry.outcome,
  status: entry.status,
  request_id: entry.requestId,
});
