import { ValidationError } from "../../model/errors.ts";

/** @throws {@link ValidationError} there is nothing to change (specification, section 5); it names the `options`. */
export function assertChange(json: object, options: readonly string[]): void {
  if (Object.keys(json).length === 0) {
    const names = `${options.slice(0, -1).join(", ")} or ${options.at(-1)}`;
    throw new ValidationError(`No valid update options provided: give at least one of ${names}`);
  }
}
