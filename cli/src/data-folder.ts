import { Option } from "commander";
import type { Command } from "commander";
import { UsageError } from "./usage-error.ts";

/** The flags of a command that works on the data of a server, without the server. */
export interface DataFlags {
  readonly data: string;
  readonly store?: string;
}

const storeVariable = "MILLRACE_STORE_URL";

/** Adds `--data` and `--store`. */
export const addDataFlags = (command: Command, defaultDataDir: string): Command =>
  command
    .option("--data <folder>", "folder of the database", defaultDataDir)
    .addOption(
      new Option(
        "--store <url>",
        `database of PostgreSQL, as of the servers; also ${storeVariable}, which hides the password from the list of processes`,
      ),
    );

/**
 * The URL of the database that the command works on; `undefined` for a data folder, which is meant if `--data` is passed
 * and `--store` is not.
 *
 * @throws UsageError the URL is malformed.
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
 * Refuses to work on the default data folder while MILLRACE_STORE_URL names a PostgreSQL database: the server that the user
 * means has its data there.
 *
 * @throws UsageError
 */
export function assertDataFolder(command: Command, env: NodeJS.ProcessEnv, advice: string): void {
  const isNamed = command.getOptionValue("store") !== undefined;
  const isMeant =
    command.getOptionValueSource("data") === "default" && (env[storeVariable] ?? "") !== "";
  if (isNamed || isMeant) {
    throw new UsageError(
      `${isNamed ? "--store" : storeVariable} names a PostgreSQL database, but this command works on a data folder: ${advice}; or pass --data <folder>${isNamed ? " without --store" : ""}`,
    );
  }
}
