import { ValidationError } from "../../model/errors.ts";

/**
 * Refuses an update that changes nothing (product specification, section 5).
 *
 * @param options - names of the options, for the message.
 * @throws {@link ValidationError} if `json` has no fields.
 */
export function assertChange(json: object, options: readonly string[]): void {
  if (Object.keys(json).length === 0) {
    const names = `${options.slice(0, -1).join(", ")} or ${options.at(-1)}`;
    throw new ValidationError(`No valid update options provided: give at least one of ${names}`);
  }
}
