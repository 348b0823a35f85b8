import type { Command } from "commander";
import { addHelpExamples } from "../examples.ts";
import { UsageError } from "../usage-error.ts";
import { addDataFlag } from "../data-folder.ts";

interface MoveFlags {
  readonly data: string;
  readonly store?: string;
  readonly abandon?: true;
}

const storeVariable = "MILLRACE_STORE_URL";

export function addMove(program: Command, env: NodeJS.ProcessEnv): void {
  const command = addDataFlag(program.command("move"), env)
    .description(
      "Move the data of a server from SQLite to an empty PostgreSQL database, while the server is running. If the command is interrupted, call it again to continue.",
    )
    .option(
      "--store <url>",
      `address of the PostgreSQL database that the servers will use; also ${storeVariable}, which hides the password from the list of processes`,
    )
    .option("--abandon", "give up the move, so that the data folder accepts writes again")
    .action(async ({ data, store = env[storeVariable], abandon }: MoveFlags) => {
      if (abandon === true) {
        const { abandonMove } = await import("@millrace/server");
        abandonMove(data);
        process.stdout.write(
          `${data} accepts writes; empty the PostgreSQL database before another move\n`,
        );
        return;
      }
      await move(data, store);
    });
  addHelpExamples(command, [
    "MILLRACE_STORE_URL=postgres://app:secret@db/traces millrace move --data ./traces",
    "millrace move --store postgres://db/traces",
    "millrace move --abandon",
  ]);
}

async function move(data: string, store: string | undefined): Promise<void> {
  if (store === undefined || store === "") {
    throw new UsageError(
      `millrace move needs the PostgreSQL database: pass --store (${storeVariable})`,
    );
  }
  const { describeStoreUrl, moveFolder } = await import("@millrace/server");
  const storeAddress = describe(store, describeStoreUrl);
  const { tenants, tables, heldMs } = await moveFolder({
    dataDir: data,
    store,
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  const count = (name: string): string =>
    (tables.find((table) => table.name === name)?.count ?? 0).toLocaleString("en-US");
  const rows = tables.reduce((sum, table) => sum + table.count, 0).toLocaleString("en-US");
  process.stdout.write(
    `moved ${rows} rows (tenants: ${tenants}, runs: ${count("runs")}) to PostgreSQL at ${storeAddress}; the counts and hashes of the rows match. The server refused writes for ${(heldMs / 1_000).toFixed(1)} s during the move\n`,
  );
  process.stderr.write(
    `the server on ${data} refuses writes now: stop it, and start servers with --store and a copy of ${data}/token.key in their data folders\n`,
  );
}

function describe(store: string, describeStoreUrl: (url: string) => string): string {
  try {
    return describeStoreUrl(store);
  } catch (cause) {
    const reason = (cause instanceof Error ? cause.message : String(cause)).replace(/^store /, "");
    throw new UsageError(`--store (${storeVariable}) ${reason}`, { cause });
  }
}
