import { ValidationError } from "../../model/errors.ts";

/**
 * Converts a time to its wire form. A string is sent unchanged, since it may contain microseconds, which a Date
 * would drop.
 *
 * @throws {@link ValidationError} if `time` is neither a Date nor a date string. The message contains `name`, the name
 * of the option.
 */
export function toIsoTime(time: Date | string | undefined, name: string): string | undefined {
  if (time === undefined) {
    return undefined;
  }
  const isTime = typeof time === "string" || time instanceof Date;
  if (!isTime || Number.isNaN(new Date(time).getTime())) {
    throw new ValidationError(`${name} must be a Date or a date string`);
  }
  return typeof time === "string" ? time : time.toISOString();
}
