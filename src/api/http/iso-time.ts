import { ValidationError } from "../../model/errors.ts";

/**
 * A time as the wire has it. A text stays as it is: it may hold microseconds.
 *
 * @throws {@link ValidationError} it is no time; the message names it.
 */
export function toIsoTime(time: Date | string | undefined, name: string): string | undefined {
  if (time === undefined) {
    return undefined;
  }
  const isTime = typeof time === "string" || time instanceof Date;
  if (!isTime || Number.isNaN(new Date(time).getTime())) {
    throw new ValidationError(`${name} must be a Date, or a text that is a time`);
  }
  return typeof time === "string" ? time : time.toISOString();
}
