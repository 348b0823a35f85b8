export const webhookLimits = {
  /** Maximum number of webhooks of one tenant. */
  perTenant: 100,
  /** Maximum number of characters of a name. */
  nameChars: 200,
  /**
   * Deliveries of one tenant that wait to be sent. Above this, new ones become dead letters at once, which means that
   * no attempt is made to send them.
   */
  waiting: 10_000,
  /** Bytes of the body of one delivery. */
  bodyBytes: 262_144,
  /** Hours for which deliveries may be signed with the old secret as well. */
  overlapHours: 168,
  /** Deliveries of each webhook that are kept after they were received, and after the last attempt failed. */
  keptDelivered: 200,
  keptDead: 1_000,
  /** Deliveries in one list, and in one request that sends them again. */
  listed: 100,
  resent: 1_000,
  /**
   * Deliveries of one webhook that are sent at the same time, and webhooks to which deliveries are sent at the same
   * time.
   */
  atOnce: 4,
  webhooksAtOnce: 16,
} as const;

/**
 * Milliseconds from each failed attempt to the next one. If the last attempt fails, too, the delivery becomes a dead
 * letter. The last attempt is made about 18 hours after the first.
 */
export const retryDelaysMs: readonly number[] = [
  5_000, 60_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000,
];

/** An address to which the server sends events. */
export interface Webhook {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly isEnabled: boolean;
  readonly createdMicros: number;
  /** Deliveries that were received since the webhook was created, that wait, and that failed for good. */
  readonly delivered: number;
  readonly waiting: number;
  readonly dead: number;
  readonly lastDeliveredMicros: number | null;
  /** Until when deliveries are signed with the old secret as well; `null` if they are not. */
  readonly previousSecretUntilMicros: number | null;
}

/** A webhook that is to be created. */
export interface WebhookDraft {
  readonly name: string;
  readonly url: string;
}

/** The settings of a webhook that an update changes. Absent ones keep their value. */
export type WebhookChanges = Partial<WebhookDraft> & { readonly isEnabled?: boolean };

/** States of a delivery, which is one message that is to be sent to a webhook. `dead`: all attempts failed. */
export const deliveryStates = ["waiting", "delivered", "dead"] as const;

export type DeliveryState = (typeof deliveryStates)[number];

/** An event that is sent to a webhook, at least once. */
export interface Delivery {
  readonly id: string;
  readonly webhookId: string;
  /** The kind of the event, such as `alert.firing`. */
  readonly event: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly createdMicros: number;
  /** When the next attempt is made; only while it waits. */
  readonly nextMicros: number | null;
  /** When the last attempt was made, the status of its response, and why it failed. */
  readonly lastMicros: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

/** A delivery with the body that is sent. */
export interface DeliveryContent extends Delivery {
  readonly body: string;
}

/** An event for a webhook. */
export interface DeliveryDraft {
  /** Enqueuing the same id again changes nothing. */
  readonly id: string;
  readonly webhookId: string;
  readonly event: string;
  /** What happened. It becomes the member `data` of the body. */
  readonly data: object;
}

/** What is needed to make an attempt. */
export interface DueDelivery {
  readonly tenantId: string;
  readonly id: string;
  readonly webhookId: string;
  readonly url: string;
  /**
   * The secret and, for a while after it was changed, the one before it. `undefined` if the secret can't be decrypted,
   * because the key file was lost.
   */
  readonly secrets: readonly string[] | undefined;
  readonly event: string;
  readonly body: string;
  readonly attempts: number;
}

export interface AttemptResult {
  readonly tenantId: string;
  readonly id: string;
  readonly webhookId: string;
  readonly atMicros: number;
  readonly status: number | null;
  /** `null` if the receiver accepted the delivery. */
  readonly error: string | null;
  /** When the next attempt is made; `null` after the last one. */
  readonly nextMicros: number | null;
}

/** Selects the deliveries to one webhook; with `state`, only those in this state. */
export interface DeliveryQuery {
  readonly webhookId: string;
  readonly state?: DeliveryState;
}

export interface WebhookReads {
  /** Lists the webhooks of a tenant in the order of their names. */
  list(tenantId: string): Promise<readonly Webhook[]>;
  /** @throws RequestError 404: there is no such webhook. */
  find(tenantId: string, id: string): Promise<Webhook>;
  /** Lists the latest deliveries of a webhook. */
  listDeliveries(tenantId: string, query: DeliveryQuery): Promise<readonly Delivery[]>;
  /** @throws RequestError 404: there is no such delivery. */
  findDelivery(tenantId: string, id: string): Promise<DeliveryContent>;
  /** Reads what is needed to send a test. */
  readTarget(tenantId: string, id: string): Promise<Pick<DueDelivery, "url" | "secrets">>;
  /** Lists deliveries of all tenants that are due, a few of each webhook, and the time at which the next one is due. */
  listDue(nowMicros: number): Promise<{
    readonly due: readonly DueDelivery[];
    readonly nextMicros: number | null;
  }>;
}

export interface WebhookWrites {
  /**
   * Creates a webhook with a new secret, which can't be read again.
   *
   * @throws RequestError 409: the tenant has too many webhooks.
   */
  create(
    tenantId: string,
    draft: WebhookDraft,
  ): Promise<{ readonly webhook: Webhook; readonly secret: string }>;
  /** @throws RequestError 404: there is no such webhook. */
  update(tenantId: string, id: string, changes: WebhookChanges): Promise<Webhook>;
  /**
   * Gives a webhook a new secret, which can't be read again. Until `overlapMicros` from now, deliveries are signed with
   * the current secret as well, so that the receiver can be changed in the meantime.
   *
   * @throws RequestError 404: there is no such webhook.
   */
  updateSecret(
    tenantId: string,
    id: string,
    overlapMicros: number,
  ): Promise<{ readonly webhook: Webhook; readonly secret: string }>;
  /** Deletes a webhook and its deliveries. */
  delete(tenantId: string, id: string): Promise<void>;
  /**
   * Stores events that are to be sent.
   *
   * @throws RequestError 404: one of the webhooks does not exist.
   */
  enqueue(tenantId: string, drafts: readonly DeliveryDraft[]): Promise<void>;
  /** Sends dead letters again: those with these ids, or all of a webhook. Returns their number. */
  resend(
    tenantId: string,
    selection: { readonly webhookId: string; readonly ids?: readonly string[] },
  ): Promise<number>;
  /** Stores the results of attempts. */
  record(results: readonly AttemptResult[]): Promise<void>;
}
