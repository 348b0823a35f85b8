import type { KeyStore, ListedKey } from "@millrace/server";
import { Option } from "commander";
import type { Command } from "commander";
import { keyScopes } from "millrace/model";
import type { KeyScope } from "millrace/model";
import { addHelpExamples } from "../examples.ts";
import { requireDataFolder } from "../data-folder.ts";
import { defaultDataDir } from "./serve.ts";

interface DataFlag {
  readonly data: string;
}

interface CreateFlags {
  readonly name: string;
  readonly tenant?: string;
  readonly scope: readonly KeyScope[];
}

/** Adds `millrace keys create|list|revoke`. */
export function addKeys(program: Command, env: NodeJS.ProcessEnv): void {
  const keys = requireDataFolder(
    program.command("keys"),
    env,
    "create and revoke keys in the UI (Settings)",
  ).description(
    "Create, list and revoke the API keys of a data folder. A running server applies changes at once.",
  );
  addHelpExamples(keys, ["millrace keys create --name laptop", "millrace keys list"]);
  const addSubcommand = (name: string): Command =>
    keys.command(name).option("--data <folder>", "folder of the database", defaultDataDir);
  addHelpExamples(addSubcommand("create"), [
    "millrace keys create --name laptop",
    "millrace keys create --name service --scope ingest",
    "millrace keys create --tenant acme --name ci --data ./traces",
  ])
    .description(
      "Create a key and print it; it can't be shown again. Once a key exists, the server requires one.",
    )
    .option(
      "--tenant <handle>",
      "tenant of the key, created if missing (default: the first tenant)",
    )
    .option("--name <text>", "label that says what the key is for", "")
    .addOption(
      new Option(
        "--scope <scopes...>",
        "what the key permits: ingest sends runs and feedback, read reads, write does both and changes data, admin does everything",
      )
        .choices(keyScopes)
        .default(["admin"], "admin"),
    )
    .action(async ({ data, scope: scopes, ...draft }: DataFlag & CreateFlags) => {
      const { id, key } = await withKeys(data, (store) => store.create({ ...draft, scopes }));
      process.stdout.write(`${key}\n`);
      process.stderr.write(`key ${id}; only its digest is stored, so it can't be shown again\n`);
    });
  addHelpExamples(addSubcommand("list"), ["millrace keys list", "millrace keys list --json"])
    .description("List the keys by their last characters, including revoked ones.")
    .option("--json", "print one JSON object per line")
    .action(async ({ data, json }: DataFlag & { json?: true }) => {
      const lines = (await withKeys(data, (store) => store.list())).map(
        json === true ? toJson : toLine,
      );
      process.stdout.write(lines.map((line) => `${line}\n`).join(""));
    });
  addHelpExamples(addSubcommand("revoke"), [
    "millrace keys revoke 0190a6c2-1f0a-7000-8000-000000000001",
  ])
    .description("Revoke a key; the server refuses it from the next request on.")
    .argument("<id>", "id of the key, as shown by list")
    .action(async (id: string, { data }: DataFlag) => {
      const { hint } = await withKeys(data, (store) => store.revoke(id));
      process.stdout.write(`revoked the key that ends in ${hint}\n`);
    });
}

async function withKeys<Result>(
  dataDir: string,
  callback: (store: KeyStore) => Promise<Result>,
): Promise<Result> {
  const { KeyStore } = await import("@millrace/server");
  const store = new KeyStore(dataDir);
  try {
    return await callback(store);
  } finally {
    store.close();
  }
}

const toIsoTime = (micros: number): string => new Date(micros / 1_000).toISOString();

const toLine = ({ id, hint, name, tenantHandle, tenantId, ...key }: ListedKey): string =>
  [
    id,
    `...${hint}`,
    tenantHandle ?? tenantId,
    toIsoTime(key.createdMicros),
    key.scopes.join(","),
    key.revokedMicros === null ? "valid" : `revoked ${toIsoTime(key.revokedMicros)}`,
    // A name can contain control characters; as JSON it can't move the terminal's cursor.
    JSON.stringify(name),
  ].join("  ");

const toJson = ({ createdMicros, revokedMicros, ...key }: ListedKey): string =>
  JSON.stringify({
    ...key,
    createdAt: toIsoTime(createdMicros),
    revokedAt: revokedMicros === null ? null : toIsoTime(revokedMicros),
  });
