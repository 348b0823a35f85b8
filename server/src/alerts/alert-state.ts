import type { AlertDraft, AlertStatus } from "./alert.ts";

/** Number of evaluations in a row that must breach the threshold before an alert fires. There is one each minute. */
const evaluationsToFire = 2;
/** Number of evaluations in a row that must be clear of the threshold before a firing alert recovers. */
const evaluationsToRecover = 3;

/**
 * A firing alert recovers only if its figure is better than the threshold by this share of the threshold. Otherwise a
 * figure that moves around the threshold would notify the receivers again and again.
 */
const recoveryMargin = 0.05;

/** The state of an alert before its first evaluation. */
export const initialStatus: AlertStatus = { state: "no_data", isFiring: false, streak: 0 };

/** What receivers are notified of. */
export type AlertNotification = "firing" | "recovered";

// States: no_data, ok, firing. `isFiring` does not change while there is no data, so that a gap in the data neither
// hides a recovery nor notifies twice.

/** Computes the status after an evaluation, and what receivers must be notified of. */
export function evaluateStatus(
  { isFiring, streak }: AlertStatus,
  value: number | null,
  alert: Pick<AlertDraft, "direction" | "threshold">,
): { readonly status: AlertStatus; readonly notification: AlertNotification | undefined } {
  if (value === null) {
    return { status: { state: "no_data", isFiring, streak: 0 }, notification: undefined };
  }
  const needed = isFiring ? evaluationsToRecover : evaluationsToFire;
  const wouldChangeState = isFiring ? isClear(value, alert) : isBreached(value, alert);
  const count = wouldChangeState ? streak + 1 : 0;
  if (count < needed) {
    return {
      status: { state: isFiring ? "firing" : "ok", isFiring, streak: count },
      notification: undefined,
    };
  }
  return isFiring
    ? { status: { state: "ok", isFiring: false, streak: 0 }, notification: "recovered" }
    : { status: { state: "firing", isFiring: true, streak: 0 }, notification: "firing" };
}

type Condition = Pick<AlertDraft, "direction" | "threshold">;

const isBreached = (value: number, { direction, threshold }: Condition): boolean =>
  direction === "above" ? value > threshold : value < threshold;

const isClear = (value: number, { direction, threshold }: Condition): boolean =>
  direction === "above"
    ? value <= threshold * (1 - recoveryMargin)
    : value >= threshold * (1 + recoveryMargin);
