import { randomUUID } from "node:crypto";
import { selectRunFields } from "../filter/fields.ts";
import { readFilter, readSavedFilter } from "../filter/filter-parameter.ts";
import { createMaximumError, RequestError } from "../model/errors.ts";
import { runStatuses } from "../model/run-status.ts";
import { projectQueries } from "../projects/project-queries.ts";
import { microsNow } from "../storage/clock.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/query.ts";
import { idOf } from "../storage/row-keys.ts";
import type { WebhookWrites } from "../webhooks/webhook.ts";
import { evaluateStatus, initialStatus } from "./alert-state.ts";
import type { AlertNotification } from "./alert-state.ts";
import { alertLimits, alertStates } from "./alert.ts";
import type {
  ActiveAlert,
  Alert,
  AlertChanges,
  AlertDraft,
  AlertEvaluation,
  AlertEvent,
  AlertReads,
  AlertState,
  AlertWrites,
} from "./alert.ts";
import { alertQueries } from "./alert-queries.ts";
import type { AlertRow } from "./alert-tables.ts";

/** Which runs an alert counts. */
type AlertSelection = Pick<AlertDraft, "scope" | "group" | "filter">;

export class AlertRepository implements AlertReads, AlertWrites {
  readonly #db: Database;
  readonly #webhooks: Pick<WebhookWrites, "enqueue">;
  readonly #clock: Clock;

  constructor(db: Database, webhooks: Pick<WebhookWrites, "enqueue">, clock: Clock = microsNow) {
    this.#db = db;
    this.#webhooks = webhooks;
    this.#clock = clock;
  }

  async list(tenantId: string, projectId: string): Promise<readonly Alert[]> {
    await this.#assertProject(tenantId, projectId);
    const limit = alertLimits.perProject;
    const rows = await this.#db.all(alertQueries.list, { tenantId, projectId, limit });
    return rows.map(parseRow);
  }

  async listHistory(tenantId: string, id: string): Promise<readonly AlertEvent[]> {
    await this.#findRow(tenantId, id);
    const limit = alertLimits.history;
    const rows = await this.#db.all(alertQueries.listEvents, { tenantId, id, limit });
    return rows.map(({ at_us: atMicros, state, value }) => ({
      atMicros,
      state: parseState(state),
      value,
    }));
  }

  async listActive(): Promise<readonly ActiveAlert[]> {
    const rows = await this.#db.all(alertQueries.listActive, {});
    return rows.map((row) => ({
      ...parseRow(row),
      tenantId: row.tenant_id,
      projectId: idOf(row.project_id),
    }));
  }

  async create(tenantId: string, projectId: string, draft: AlertDraft): Promise<Alert> {
    await this.#assertProject(tenantId, projectId);
    const limit = alertLimits.perProject;
    const existing = await this.#db.all(alertQueries.list, { tenantId, projectId, limit });
    if (existing.length >= limit) {
      throw createMaximumError("project", `${limit} alerts`);
    }
    assertName(existing.map(parseRow), draft.name);
    assertThreshold(draft);
    assertSelection(draft);
    const alert: Alert = {
      ...draft,
      id: randomUUID(),
      projectId,
      isEnabled: true,
      createdMicros: this.#clock(),
      ...statusBeforeEvaluation,
    };
    await this.#db.run(alertQueries.insert, toRow(tenantId, alert));
    return alert;
  }

  async update(tenantId: string, id: string, changes: AlertChanges): Promise<Alert> {
    const row = await this.#findRow(tenantId, id);
    const current = parseRow(row);
    if (changes.name !== undefined && changes.name !== current.name) {
      assertName(await this.list(tenantId, idOf(row.project_id)), changes.name);
    }
    if (changes.figure !== undefined || changes.threshold !== undefined) {
      assertThreshold({ ...current, ...changes });
    }
    if (
      changes.scope !== undefined ||
      changes.group !== undefined ||
      changes.filter !== undefined
    ) {
      assertSelection({ ...current, ...changes });
    }
    const { name: _name, webhookId: _webhookId, ...watched } = changes;
    const alert: Alert = {
      ...current,
      ...changes,
      ...(Object.keys(watched).length > 0 && statusBeforeEvaluation),
    };
    await this.#db.run(alertQueries.update, toRow(tenantId, alert));
    return alert;
  }

  async delete(tenantId: string, id: string): Promise<void> {
    if ((await this.#db.run(alertQueries.delete, { tenantId, id })) === 0) {
      throw createNotFound();
    }
    await this.#db.run(alertQueries.deleteEvents, { tenantId, id });
  }

  async record(evaluations: readonly AlertEvaluation[]): Promise<boolean> {
    let hasNotified = false;
    for (const evaluation of evaluations) {
      const { tenantId, alertId } = evaluation;
      const row = await this.#db.first(alertQueries.find, { tenantId, id: alertId });
      // The user may have deleted or disabled the alert while it was evaluated.
      if (row?.is_enabled === 1) {
        hasNotified = (await this.#recordOne(parseRow(row), evaluation)) || hasNotified;
      }
    }
    return hasNotified;
  }

  async #recordOne(alert: Alert, evaluation: AlertEvaluation): Promise<boolean> {
    const { tenantId, alertId, atMicros, value, problem } = evaluation;
    if (value === undefined) {
      await this.#db.run(alertQueries.update, toRow(tenantId, { ...alert, problem }));
      return false;
    }
    const { status, notification } = evaluateStatus(alert.status, value, alert);
    const hasChanged = status.state !== alert.status.state || alert.evaluatedMicros === null;
    const evaluatedAlert = {
      ...alert,
      status,
      value,
      evaluatedMicros: atMicros,
      changedMicros: hasChanged ? atMicros : alert.changedMicros,
    };
    const failure =
      notification === undefined
        ? undefined
        : await this.#notify(evaluatedAlert, evaluation, notification);
    await this.#db.run(
      alertQueries.update,
      toRow(tenantId, { ...evaluatedAlert, problem: failure ?? problem }),
    );
    if (hasChanged) {
      await this.#db.run(alertQueries.addEvent, {
        tenant_id: tenantId,
        alert_id: alertId,
        at_us: atMicros,
        state: status.state,
        value,
      });
      await this.#db.run(alertQueries.pruneEvents, {
        tenantId,
        id: alertId,
        kept: alertLimits.history,
      });
    }
    return notification !== undefined;
  }

  /**
   * Enqueues a delivery to the alert's webhook, if it has one. Returns why that was not possible; `undefined` if
   * nothing failed.
   */
  async #notify(
    alert: Alert,
    { tenantId, fromMicros, toMicros }: AlertEvaluation,
    notification: AlertNotification,
  ): Promise<string | undefined> {
    const { webhookId } = alert;
    if (webhookId === null) {
      return undefined;
    }
    const [from, to] = [fromMicros, toMicros].map((micros) =>
      new Date(micros / 1_000).toISOString(),
    );
    const projectId = idOf(alert.projectId);
    const draft = {
      id: randomUUID(),
      webhookId,
      event: `alert.${notification}`,
      data: {
        alert: {
          id: alert.id,
          name: alert.name,
          figure: alert.figure,
          scope: alert.scope,
          group: alert.group,
          filter: alert.filter,
          window_minutes: alert.windowMinutes,
          direction: alert.direction,
          threshold: alert.threshold,
        },
        value: alert.value,
        session_id: projectId,
        from,
        to,
        app_path: `/o/${tenantId}/projects/p/${projectId}/dashboard?from=${from}&to=${to}${toSelectionQuery(alert)}`,
      },
    };
    try {
      await this.#webhooks.enqueue(tenantId, [draft]);
      return undefined;
    } catch (cause) {
      if (cause instanceof RequestError) {
        return `The webhook was not notified: ${cause.message}`;
      }
      throw cause;
    }
  }

  async #findRow(tenantId: string, id: string): Promise<AlertRow> {
    const row = await this.#db.first(alertQueries.find, { tenantId, id });
    if (row === undefined) {
      throw createNotFound();
    }
    return row;
  }

  async #assertProject(tenantId: string, projectId: string): Promise<void> {
    const project = await this.#db.first(projectQueries.find, { tenantId, id: projectId });
    if (project === undefined) {
      throw new RequestError(404, "Session not found");
    }
  }
}

/** @throws RequestError 409: an alert of the project has the name. */
function assertName(alerts: readonly Alert[], name: string): void {
  if (alerts.some((alert) => alert.name === name)) {
    throw new RequestError(409, "name: the project has an alert with this name");
  }
}

/** @throws RequestError 422: the figure can't have such a value. */
function assertThreshold({ figure, threshold }: Pick<AlertDraft, "figure" | "threshold">): void {
  if (figure === "error_rate" && threshold > 1) {
    throw new RequestError(422, "threshold: an error rate is at most 1, which is 100 %");
  }
}

/** @throws RequestError 422: the filter is invalid, or runs can't have the value of the group. */
function assertSelection({ scope, group, filter }: AlertSelection): void {
  readFilter(selectRunFields(scope === "traces"), "filter", filter);
  if (group?.by === "status" && !runStatuses.some((status) => status === group.value)) {
    throw new RequestError(422, `group.value must be one of ${runStatuses.join(", ")}`);
  }
}

/** Returns the query parameters that make the dashboard page show the runs that an alert counts. */
function toSelectionQuery({ scope, group, filter }: AlertSelection): string {
  const query = new URLSearchParams({
    scope,
    ...(group !== null && { group: group.by }),
    ...(filter !== null && { filter }),
  });
  return `&${query.toString()}`;
}

const createNotFound = (): RequestError => new RequestError(404, "Alert not found");

const statusBeforeEvaluation = {
  status: initialStatus,
  value: null,
  evaluatedMicros: null,
  changedMicros: null,
  problem: null,
};

const toRow = (tenantId: string, alert: Alert): AlertRow => {
  const { id, projectId, isEnabled, createdMicros, status, value, evaluatedMicros } = alert;
  const { changedMicros, problem, ...draft } = alert;
  const { figure, scope, group, filter, windowMinutes, direction, threshold, webhookId } = draft;
  return {
    tenant_id: tenantId,
    id,
    project_id: projectId,
    name_json: JSON.stringify(alert.name),
    draft_json: JSON.stringify({
      figure,
      scope,
      group,
      filter,
      windowMinutes,
      direction,
      threshold,
      webhookId,
    } satisfies Omit<AlertDraft, "name">),
    is_enabled: Number(isEnabled),
    created_us: createdMicros,
    state: status.state,
    is_firing: Number(status.isFiring),
    streak: status.streak,
    value,
    evaluated_us: evaluatedMicros,
    changed_us: changedMicros,
    problem_json: problem === null ? null : JSON.stringify(problem),
  };
};

/** What `draft_json` holds. */
type StoredDraft = Omit<AlertDraft, "name" | "filter"> & Partial<Pick<AlertDraft, "filter">>;

function parseDraft(json: string): Omit<AlertDraft, "name"> {
  // Alerts that an earlier version stored have no filter.
  const { filter = null, ...draft } = JSON.parse(json) as StoredDraft;
  const fields = selectRunFields(draft.scope === "traces");
  return { ...draft, filter: readSavedFilter(fields, filter) };
}

const parseRow = (row: AlertRow): Alert => ({
  ...parseDraft(row.draft_json),
  id: row.id,
  projectId: row.project_id,
  name: JSON.parse(row.name_json) as string,
  isEnabled: row.is_enabled === 1,
  createdMicros: row.created_us,
  status: { state: parseState(row.state), isFiring: row.is_firing === 1, streak: row.streak },
  value: row.value,
  evaluatedMicros: row.evaluated_us,
  changedMicros: row.changed_us,
  problem: row.problem_json === null ? null : (JSON.parse(row.problem_json) as string),
});

const parseState = (text: string): AlertState =>
  alertStates.find((state) => state === text) ?? "no_data";
