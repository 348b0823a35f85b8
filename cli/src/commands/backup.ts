import type { Command } from "commander";
import { addDataFlags, assertDataFolder, findStore } from "../data-folder.ts";
import type { DataFlags } from "../data-folder.ts";
import { addHelpExamples } from "../examples.ts";
import { UsageError } from "../usage-error.ts";

interface BackupFlags extends DataFlags {
  readonly tenant?: string;
  readonly tokenKey?: string;
}

interface RestoreFlags extends BackupFlags {
  readonly replace?: true;
}

const advice =
  "back up the database with pg_dump, or with the tools of your provider; or back up one tenant with --tenant";

/** Adds `millrace backup` and `millrace restore`. */
export function addBackup(program: Command, env: NodeJS.ProcessEnv): void {
  const backup = addDataFlags(program.command("backup"), env)
    .description(
      "Copy the database of a data folder, or all data of one tenant, to a new file, whether or not a server is running.",
    )
    .argument("<file>", "the new file")
    .option(
      "--tenant <name>",
      "back up only this tenant (handle, id, or default); the file can be restored into SQLite or PostgreSQL",
    )
    .option(
      "--token-key <file>",
      "also copy token.key, which encrypts the addresses of links, to this file; store it apart from the backup",
    )
    .action(async (file: string, { data, tenant, tokenKey }: BackupFlags) => {
      if (tenant !== undefined) {
        await backUpTenant(file, tenant, {
          data,
          store: await findStore(backup, env),
          tokenKey,
        });
        return;
      }
      assertDataFolder(backup, env, advice);
      const { createBackup } = await import("@millrace/server");
      const bytes = await createBackup(data, file, { tokenKeyFile: tokenKey });
      process.stdout.write(`copied the database of ${data} to ${file} (${formatSize(bytes)})\n`);
    });
  addHelpExamples(backup, [
    "millrace backup traces-2026-11-26.db",
    "millrace backup traces.db --data ./traces --token-key ../keys/token.key",
    "millrace backup acme.backup --tenant acme",
    "MILLRACE_STORE_URL=postgres://app:secret@db/traces millrace backup acme.backup --tenant acme",
  ]);
  const restore = addDataFlags(program.command("restore"), env)
    .description(
      "Restore a backup into a data folder that no server is using, or the backup of a tenant into a data folder or PostgreSQL.",
    )
    .argument("<file>", "the backup; it is not changed")
    .option(
      "--tenant <name>",
      "tenant to restore the backup of a tenant to: a handle, an id, or default",
    )
    .option(
      "--replace",
      "replace an existing database, which is renamed; with --tenant, delete the tenant's existing data first",
    )
    .option("--token-key <file>", "also add the key that was copied with the backup")
    .action(async (file: string, { data, replace, tenant, tokenKey }: RestoreFlags) => {
      const { isTenantFile } = await import("@millrace/server");
      if (tenant !== undefined) {
        await restoreTenantFile(file, tenant, {
          data,
          store: await findStore(restore, env),
          replace,
          tokenKey,
        });
        return;
      }
      if (isTenantFile(file)) {
        throw new UsageError(
          `${file} is the backup of a tenant: pass --tenant with the tenant to restore it to`,
        );
      }
      assertDataFolder(restore, env, advice);
      await restoreDatabase(file, { data, replace, tokenKey });
    });
  addHelpExamples(restore, [
    "millrace restore traces-2026-11-26.db --data ./restored",
    "millrace restore traces.db --replace --token-key ../keys/token.key",
    "millrace restore acme.backup --tenant acme",
    "millrace restore acme.backup --tenant acme --replace --store postgres://db/traces",
  ]);
}

interface TenantFlags {
  readonly data: string;
  readonly store: string | undefined;
  readonly tokenKey: string | undefined;
}

async function backUpTenant(
  file: string,
  tenant: string,
  { data, store, tokenKey }: TenantFlags,
): Promise<void> {
  const { createTenantBackup } = await import("@millrace/server");
  const { bytes, tables } = await createTenantBackup(file, {
    tenant,
    dataDir: data,
    store,
    tokenKeyFile: tokenKey,
  });
  process.stdout.write(
    `copied ${countRows(tables)} of the tenant ${tenant} to ${file} (${formatSize(bytes)})\n`,
  );
}

async function restoreTenantFile(
  file: string,
  tenant: string,
  { data, store, replace, tokenKey }: TenantFlags & { readonly replace: true | undefined },
): Promise<void> {
  const { restoreTenant } = await import("@millrace/server");
  const { tables } = await restoreTenant(file, {
    tenant,
    dataDir: data,
    store,
    replace: replace === true,
    tokenKeyFile: tokenKey,
  });
  process.stdout.write(
    `restored ${countRows(tables)} from ${file} to the tenant ${tenant}; the counts and hashes of the rows match the file\n`,
  );
  if (tokenKey === undefined) {
    process.stderr.write(
      "addresses of links and secrets of webhooks are encrypted with the token.key of the backup: to use them, add it with --token-key, and restart the server\n",
    );
  }
}

async function restoreDatabase(
  file: string,
  {
    data,
    replace,
    tokenKey,
  }: Pick<RestoreFlags, "data"> & {
    readonly replace: true | undefined;
    readonly tokenKey: string | undefined;
  },
): Promise<void> {
  const { restoreBackup } = await import("@millrace/server");
  const { replacedFile, hasTokenKey } = restoreBackup(file, data, {
    replace: replace === true,
    tokenKeyFile: tokenKey,
  });
  if (replacedFile !== undefined) {
    process.stderr.write(`the earlier database was renamed to ${replacedFile}\n`);
  }
  if (!hasTokenKey) {
    process.stderr.write(
      "the folder has no token.key: earlier links work, but their addresses can't be shown until --token-key adds it\n",
    );
  }
  process.stdout.write(`restored ${file} to ${data}\n`);
}

function countRows(tables: readonly { readonly name: string; readonly count: number }[]): string {
  const count = (name: string): number => tables.find((table) => table.name === name)?.count ?? 0;
  const total = tables.reduce((sum, table) => sum + table.count, 0);
  return `${total.toLocaleString("en-US")} rows (runs: ${count("runs").toLocaleString("en-US")})`;
}

const formatSize = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
