import { ValidationError } from "../../model/errors.ts";

/**
 * Refuses an update that changes nothing.
 *
 * @param optionNames - all options that could be changed, for the error message.
 * @throws {@link ValidationError} if `changes` has no members.
 */
export function assertChange(changes: object, optionNames: readonly string[]): void {
  if (Object.keys(changes).length === 0) {
    const optionNamesText = `${optionNames.slice(0, -1).join(", ")} or ${optionNames.at(-1)}`;
    throw new ValidationError(
      `No valid update options provided: give at least one of ${optionNamesText}`,
    );
  }
}
