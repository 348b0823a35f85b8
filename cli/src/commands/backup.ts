import type { Command } from "commander";
import { addHelpExamples } from "../examples.ts";
import { requireDataFolder } from "../data-folder.ts";
import { defaultDataDir } from "./serve.ts";

interface BackupFlags {
  readonly data: string;
  readonly tokenKey?: string;
}

interface RestoreFlags extends BackupFlags {
  readonly replace?: true;
}

/** Adds `millrace backup` and `millrace restore`. */
export function addBackup(program: Command, env: NodeJS.ProcessEnv): void {
  const advice = "back up the database with pg_dump, or with the tools of your provider";
  const backup = requireDataFolder(program.command("backup"), env, advice)
    .description(
      "Copy the database of a data folder to a new file, whether or not a server is running.",
    )
    .argument("<file>", "the new file")
    .option("--data <folder>", "folder of the database", defaultDataDir)
    .option(
      "--token-key <file>",
      "also copy the key that shows the addresses of links; store it in another place than the backup",
    )
    .action(async (file: string, { data, tokenKey }: BackupFlags) => {
      const { createBackup } = await import("@millrace/server");
      const bytes = await createBackup(data, file, { tokenKeyFile: tokenKey });
      process.stdout.write(`copied the database of ${data} to ${file} (${formatSize(bytes)})\n`);
    });
  addHelpExamples(backup, [
    "millrace backup traces-2026-11-26.db",
    "millrace backup traces.db --data ./traces --token-key ../keys/token.key",
  ]);
  const restore = requireDataFolder(program.command("restore"), env, advice)
    .description("Put a backup into a data folder. No server may be running on the folder.")
    .argument("<file>", "the backup; it stays where it is")
    .option("--data <folder>", "folder of the database; created if missing", defaultDataDir)
    .option(
      "--replace",
      "rename a database that the folder contains, and put the backup in its place",
    )
    .option("--token-key <file>", "also add the key that was copied with the backup")
    .action(async (file: string, { data, replace, tokenKey }: RestoreFlags) => {
      const { restoreBackup } = await import("@millrace/server");
      const { replacedFile, hasTokenKey } = restoreBackup(file, data, {
        replace: replace === true,
        tokenKeyFile: tokenKey,
      });
      if (replacedFile !== undefined) {
        process.stderr.write(`the earlier database is ${replacedFile} now\n`);
      }
      if (!hasTokenKey) {
        process.stderr.write(
          "the folder has no token.key: earlier links work, but their addresses can't be shown until --token-key adds it\n",
        );
      }
      process.stdout.write(`restored ${file} to ${data}\n`);
    });
  addHelpExamples(restore, [
    "millrace restore traces-2026-11-26.db --data ./restored",
    "millrace restore traces.db --replace --token-key ../keys/token.key",
  ]);
}

const formatSize = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
