import { requireItems, requireText, toNumber, toRecord, toText } from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";

export interface Webhook {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly isEnabled: boolean;
  readonly delivered: number;
  readonly waiting: number;
  /** The number of failed deliveries that the server does not retry. */
  readonly dead: number;
  readonly lastDeliveredMs: number | undefined;
  /**
   * When the old secret expires. Until then, deliveries are also signed with the old secret. `undefined` if there is no
   * old secret.
   */
  readonly previousSecretUntilMs: number | undefined;
}

export const deliveryStates = {
  waiting: "Waiting",
  delivered: "Delivered",
  dead: "Failed",
} as const;

export type DeliveryState = keyof typeof deliveryStates;

export interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly createdMs: number;
  readonly nextMs: number | undefined;
  readonly lastError: string | undefined;
}

/** @throws TypeError the value is not a list of webhooks. */
export const parseWebhooks = (value: unknown): readonly Webhook[] =>
  requireItems(value, "webhooks").map((item) => {
    const members = toRecord(item);
    return {
      id: requireText(members, "id"),
      name: requireText(members, "name"),
      url: requireText(members, "url"),
      isEnabled: members["is_enabled"] === true,
      delivered: toNumber(members["delivered"]) ?? 0,
      waiting: toNumber(members["waiting"]) ?? 0,
      dead: toNumber(members["dead"]) ?? 0,
      lastDeliveredMs: parseTimeMs(members["last_delivered_at"]),
      previousSecretUntilMs: parseTimeMs(members["previous_secret_until"]),
    };
  });

/** @throws TypeError the value is not a list of deliveries. */
export const parseDeliveries = (value: unknown): readonly Delivery[] =>
  requireItems(value, "deliveries").map((item) => {
    const members = toRecord(item);
    const { state } = members;
    return {
      id: requireText(members, "id"),
      event: requireText(members, "event"),
      state: state === "waiting" || state === "delivered" ? state : "dead",
      attempts: toNumber(members["attempts"]) ?? 0,
      createdMs: parseTimeMs(members["created_at"]) ?? 0,
      nextMs: parseTimeMs(members["next_at"]),
      lastError: toText(members["last_error"]),
    };
  });
