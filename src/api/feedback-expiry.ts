import { ValidationError } from "../model/errors.ts";
import { normalizeTime } from "./http/iso-time.ts";

/** A duration from now. Each field is a whole number of at least 0; together they must be more than 0. */
export interface ExpiresIn {
  readonly days?: number | undefined;
  readonly hours?: number | undefined;
  readonly minutes?: number | undefined;
}

/** When a feedback token expires: at a time, or after a duration. */
export type Expiration = Date | string | ExpiresIn;

/** How long a token is valid if the caller gives no expiration. */
const defaultExpiration: ExpiresIn = { hours: 3 };

const unitMs = { days: 86_400_000, hours: 3_600_000, minutes: 60_000 } as const;

/** The last millisecond of year 9999: ISO 8601 writes later years with more than four digits. */
const maxTimeMs = Date.UTC(10_000, 0) - 1;

/**
 * Returns the expiry fields of a token request.
 *
 * @throws {@link ValidationError} if the expiration is malformed, not in the future, or after the year 9999.
 */
export function toWireExpiry(
  expiration: Expiration = defaultExpiration,
  nowMs = Date.now(),
): Readonly<Record<string, unknown>> {
  if (typeof expiration === "string" || expiration instanceof Date) {
    const time = normalizeTime(expiration);
    if (time === undefined) {
      throw new ValidationError(
        'expiration must be a Date, a time such as "2026-11-21T10:11:12Z" or "2026-11-21", or an object with days, hours or minutes',
      );
    }
    assertInFuture(Date.parse(time), nowMs);
    return { expires_at: time };
  }
  const { days = 0, hours = 0, minutes = 0 } = Object(expiration) as ExpiresIn;
  const units = { days, hours, minutes };
  for (const [name, count] of Object.entries(units)) {
    if (!Number.isSafeInteger(count) || count < 0) {
      throw new ValidationError(
        `expiration: ${name} must be a whole number of at least 0, not ${count}`,
      );
    }
  }
  const durationMs = days * unitMs.days + hours * unitMs.hours + minutes * unitMs.minutes;
  assertInFuture(nowMs + durationMs, nowMs);
  return { expires_in: units };
}

function assertInFuture(timeMs: number, nowMs: number): void {
  if (timeMs <= nowMs) {
    throw new ValidationError("expiration must be in the future");
  }
  if (timeMs > maxTimeMs) {
    throw new ValidationError("expiration must be before the year 10000");
  }
}
