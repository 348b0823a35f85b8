import type { Command } from "commander";
import { UsageError } from "./usage-error.ts";

/**
 * Makes a command refuse to work on the default data folder while MILLRACE_STORE_URL names a PostgreSQL database: the
 * server that the user means has its data there.
 */
export const requireDataFolder = (
  command: Command,
  env: NodeJS.ProcessEnv,
  advice: string,
): Command =>
  command.hook("preAction", (_command, action) => {
    const isDefault = action.getOptionValueSource("data") === "default";
    if (isDefault && (env["MILLRACE_STORE_URL"] ?? "") !== "") {
      throw new UsageError(
        `MILLRACE_STORE_URL names a PostgreSQL database, but this command works on a data folder: ${advice}; or pass --data <folder>`,
      );
    }
  });
