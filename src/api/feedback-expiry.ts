import { ValidationError } from "../model/errors.ts";

/** A time from now on; whole numbers. */
export interface ExpiresIn {
  readonly days?: number | undefined;
  readonly hours?: number | undefined;
  readonly minutes?: number | undefined;
}

/** When a feedback token ends: at a time, or after one. */
export type Expiration = Date | string | ExpiresIn;

/** Where none is given (specification, section 9). */
const defaultExpiration: ExpiresIn = { hours: 3 };

const unitMs = { days: 86_400_000, hours: 3_600_000, minutes: 60_000 } as const;

/** The last moment that ISO 8601 writes with four digits. */
const lastMs = Date.UTC(10_000, 0) - 1;

/**
 * The end of a token as the wire has it.
 *
 * @throws {@link ValidationError} it is malformed or past, or the duration is malformed.
 */
export function toWireExpiry(
  expiration: Expiration = defaultExpiration,
  nowMs = Date.now(),
): Readonly<Record<string, unknown>> {
  if (typeof expiration === "string" || expiration instanceof Date) {
    const at = new Date(expiration).getTime();
    if (Number.isNaN(at)) {
      throw new ValidationError("expiration must be a Date, or a text that is a time");
    }
    assertAhead(at, nowMs);
    return { expires_at: new Date(at).toISOString() };
  }
  const { days = 0, hours = 0, minutes = 0 } = Object(expiration) as ExpiresIn;
  const units = { days, hours, minutes };
  for (const [name, count] of Object.entries(units)) {
    if (!Number.isSafeInteger(count) || count < 0) {
      throw new ValidationError(`expiration: ${name} must be a whole number from 0, not ${count}`);
    }
  }
  const lastsMs = days * unitMs.days + hours * unitMs.hours + minutes * unitMs.minutes;
  assertAhead(nowMs + lastsMs, nowMs);
  return { expires_in: units };
}

function assertAhead(at: number, nowMs: number): void {
  if (at <= nowMs) {
    throw new ValidationError("expiration must be in the future");
  }
  if (at > lastMs) {
    throw new ValidationError("expiration must be before the year 10000");
  }
}
