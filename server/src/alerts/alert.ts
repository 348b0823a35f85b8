import type { Dimension, Scope } from "../metrics/metrics.ts";

export const alertLimits = {
  /** Maximum number of alerts of one project. */
  perProject: 50,
  /** Maximum numbers of characters of an alert's name, of the value of its group, and of its filter. */
  nameChars: 200,
  valueChars: 300,
  filterChars: 10_000,
  /** Minutes of the window over which a figure is computed. */
  windowMinutesMin: 5,
  windowMinutesMax: 1_440,
  /** Maximum number of state changes that are kept of each alert. */
  history: 200,
  /** Time limit, in milliseconds, for reading the runs that the stored metrics do not contain yet. */
  readMs: 500,
  /** Time limit, in milliseconds, for reading the runs that match a filter. */
  filterMs: 2_000,
} as const;

/**
 * The figures of a dashboard. Latencies are in milliseconds, the error rate is from 0 to 1, costs are in US dollars.
 */
export const alertFigures = [
  "runs",
  "error_rate",
  "latency_p50",
  "latency_p95",
  "latency_p99",
  "first_token_p50",
  "first_token_p95",
  "first_token_p99",
  "tokens",
  "cost",
  "cost_per_run",
] as const;

export type AlertFigure = (typeof alertFigures)[number];

/** `no_data`: there are no runs from which the figure could be computed, or it has not been computed yet. */
export const alertStates = ["ok", "firing", "no_data"] as const;

export type AlertState = (typeof alertStates)[number];

/** On which side of the threshold the figure must be for the alert to fire. */
export const alertDirections = ["above", "below"] as const;

export type AlertDirection = (typeof alertDirections)[number];

/**
 * The settings of an alert, which a user chooses. The alert fires while the figure, computed over the last
 * `windowMinutes`, is above or below `threshold`, as `direction` says.
 */
export interface AlertDraft {
  readonly name: string;
  readonly figure: AlertFigure;
  readonly scope: Scope;
  /** Limits the alert to the runs with this value of this property; `null` for all runs. */
  readonly group: { readonly by: Dimension; readonly value: string } | null;
  /** The filter that the runs must match, in the filter language of runs; `null` for none. */
  readonly filter: string | null;
  readonly windowMinutes: number;
  readonly direction: AlertDirection;
  readonly threshold: number;
  /** The webhook that is notified; `null` for none. */
  readonly webhookId: string | null;
}

/** The settings of an alert that an update changes. Absent ones keep their value. */
export type AlertChanges = Partial<AlertDraft> & { readonly isEnabled?: boolean };

/** The status of an alert after its latest evaluation. */
export interface AlertStatus {
  readonly state: AlertState;
  /** Whether receivers were notified that the alert fires, and were not yet notified that it has recovered. */
  readonly isFiring: boolean;
  /** Number of evaluations in a row whose result contradicts `isFiring`. After enough of them, `isFiring` changes. */
  readonly streak: number;
}

/** A stored alert. It watches one metric of a project, over a time window that ends now. */
export interface Alert extends AlertDraft {
  readonly id: string;
  readonly projectId: string;
  readonly isEnabled: boolean;
  readonly createdMicros: number;
  readonly status: AlertStatus;
  /** The figure at the last evaluation; `null` without runs. */
  readonly value: number | null;
  readonly evaluatedMicros: number | null;
  /** When the state last changed. */
  readonly changedMicros: number | null;
  /** Why the last evaluation was not possible, or its webhook could not be notified. */
  readonly problem: string | null;
}

/** An enabled alert, with the tenant that it belongs to. */
export type ActiveAlert = Alert & { readonly tenantId: string };

export interface AlertEvaluation {
  readonly tenantId: string;
  readonly alertId: string;
  readonly atMicros: number;
  readonly fromMicros: number;
  readonly toMicros: number;
  /** The figure; `null` without runs; `undefined` if it could not be computed, for which `problem` is the reason. */
  readonly value: number | null | undefined;
  readonly problem: string | null;
}

/** A change of an alert's state. */
export interface AlertEvent {
  readonly atMicros: number;
  readonly state: AlertState;
  readonly value: number | null;
}

/** The reads of alerts. Except for `listActive`, a method reads only alerts of the tenant. */
export interface AlertReads {
  /** Lists the alerts of a project by name. */
  list(tenantId: string, projectId: string): Promise<readonly Alert[]>;
  /** Lists the latest changes of state. */
  listHistory(tenantId: string, id: string): Promise<readonly AlertEvent[]>;
  /** Lists the enabled alerts of all tenants. */
  listActive(): Promise<readonly ActiveAlert[]>;
}

export interface AlertWrites {
  /** @throws RequestError 404: there is no such project. 409: the project has too many alerts. */
  create(tenantId: string, projectId: string, draft: AlertDraft): Promise<Alert>;
  /** Changes an alert. Unless only its name or its webhook changes, its status is reset. */
  update(tenantId: string, id: string, changes: AlertChanges): Promise<Alert>;
  delete(tenantId: string, id: string): Promise<void>;
  /** Stores evaluations, and enqueues the notifications that result from them. Returns whether any were enqueued. */
  record(evaluations: readonly AlertEvaluation[]): Promise<boolean>;
}
