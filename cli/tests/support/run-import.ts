import { ended, start } from "./command.ts";
import type { CommandResult } from "./command.ts";

/** Runs `millrace import` from one server to another, in a process of its own. */
export type RunImport = (
  source: { readonly url: string },
  target: { readonly url: string; readonly folder: string },
  ...args: readonly string[]
) => Promise<CommandResult>;

/** Returns a function that imports from a product. `keys` are the variables with the keys of the source. */
export const createRunImport =
  (product: "langsmith" | "langfuse", keys: NodeJS.ProcessEnv): RunImport =>
  (source, target, ...args) =>
    ended(
      start(
        ["import", "--from", product, "--from-url", source.url, "--endpoint", target.url, ...args],
        keys,
        target.folder,
      ),
    );
