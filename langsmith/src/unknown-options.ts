import { warnOnce } from "./environment.ts";

/** A table of all options of a type. The compiler rejects a table with a missing or additional name. */
export type OptionTable<Options> = { readonly [Name in keyof Options]-?: true };

/**
 * Warns about each unknown option, because it is probably misspelled. No error is thrown, because langsmith ignores
 * unknown options.
 */
export function warnOfUnknownOptions<Options extends object>(
  functionName: string,
  options: Options,
  known: OptionTable<Options>,
): void {
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name) && Reflect.get(options, name) !== undefined) {
      // JSON escapes control characters, which could move the terminal's cursor.
      const shown = JSON.stringify(name.slice(0, 100)).slice(1, -1);
      warnOnce(
        `The option ${shown} of ${functionName} has no effect: there is no such option. Known: ${listNames(known)}.`,
      );
    }
  }
}

/** Lists the options for programs. Options that begin with two underscores are only for LangChain. */
const listNames = (known: object): string =>
  Object.keys(known)
    .filter((name) => !name.startsWith("__"))
    .join(", ");
