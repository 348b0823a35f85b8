import { Option } from "commander";
import type { Command } from "commander";
import { UsageError } from "./usage-error.ts";

/** The flags of a command that accesses the data of a server directly, without requests to the server. */
export interface DataFlags {
  readonly data: string;
  readonly store?: string;
}

const storeVariable = "MILLRACE_STORE_URL";
const dataVariable = "MILLRACE_DATA_DIR";

/** Folder of the database if neither a flag nor a variable names another. */
export const defaultDataDir = "./.millrace";

/** Adds `--data`, whose default is the folder that `millrace serve` uses in the same environment. */
export function addDataFlag(command: Command, env: NodeJS.ProcessEnv): Command {
  const folder = env[dataVariable] ?? "";
  return command.option(
    "--data <folder>",
    `data folder of the server; also ${dataVariable}`,
    folder === "" ? defaultDataDir : folder,
  );
}

/** Adds `--data` and `--store`. */
export const addDataFlags = (command: Command, env: NodeJS.ProcessEnv): Command =>
  addDataFlag(command, env).addOption(
    new Option(
      "--store <url>",
      `address of the servers' PostgreSQL database; also ${storeVariable}, which hides the password from the list of processes`,
    ),
  );

/**
 * Returns the URL of the PostgreSQL database that the command accesses; `undefined` for a data folder. If `--data` is
 * passed without `--store`, the command accesses the data folder even if the variable of the database is set.
 *
 * @throws {@link UsageError} if the URL is malformed.
 */
export async function findStore(
  command: Command,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const flag = command.getOptionValue("store") as string | undefined;
  const variable = env[storeVariable];
  const isFolderNamed = command.getOptionValueSource("data") === "cli";
  const url = flag ?? (isFolderNamed || variable === "" ? undefined : variable);
  if (url !== undefined) {
    const { describeStoreUrl } = await import("@millrace/server");
    try {
      describeStoreUrl(url);
    } catch (cause) {
      const reason = (cause instanceof Error ? cause.message : String(cause)).replace(
        /^store /,
        "",
      );
      throw new UsageError(`--store (${storeVariable}) ${reason}`, { cause });
    }
  }
  return url;
}

/**
 * Refuses to access the default data folder if MILLRACE_STORE_URL is set, because the user's server then has its data
 * in that PostgreSQL database.
 *
 * @throws {@link UsageError} if `--store` is passed, or if the variable is set and `--data` is not passed.
 */
export function assertDataFolder(command: Command, env: NodeJS.ProcessEnv, advice: string): void {
  const isFlagGiven = command.getOptionValue("store") !== undefined;
  const isVariableUsed =
    command.getOptionValueSource("data") === "default" && (env[storeVariable] ?? "") !== "";
  if (isFlagGiven || isVariableUsed) {
    throw new UsageError(
      `${isFlagGiven ? "--store" : storeVariable} names a PostgreSQL database, but this command works on a data folder: ${advice}; or pass --data <folder>${isFlagGiven ? " without --store" : ""}`,
    );
  }
}
