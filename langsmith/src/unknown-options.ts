import { warnOnce } from "./environment.ts";

/** A table of all options of a type. A table with a missing or additional name does not compile. */
export type OptionTable<Options> = { readonly [Name in keyof Options]-?: true };

/**
 * Warns of each option that a function does not have, because it is probably misspelled. It is not an error, because
 * langsmith ignores such options.
 */
export function warnOfUnknownOptions<Options extends object>(
  functionName: string,
  options: Options,
  known: OptionTable<Options>,
): void {
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) {
      // As JSON without quotes, because a name can contain control characters that affect a terminal.
      const shown = JSON.stringify(name.slice(0, 100)).slice(1, -1);
      warnOnce(
        `The option ${shown} of ${functionName} has no effect: there is no such option. Known: ${Object.keys(known).join(", ")}.`,
      );
    }
  }
}
