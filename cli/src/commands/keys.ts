import type { KeyDraft, ListedKey } from "@millrace/server";
import { Option } from "commander";
import type { Command } from "commander";
import { keyScopes } from "millrace/model";
import type { KeyScope } from "millrace/model";
import { addDataFlags, findStore } from "../data-folder.ts";
import type { DataFlags } from "../data-folder.ts";
import { addHelpExamples } from "../examples.ts";

interface CreateFlags {
  readonly name: string;
  readonly tenant?: string;
  readonly scope: readonly KeyScope[];
}

/** Adds `millrace keys create|list|revoke`. */
export function addKeys(program: Command, env: NodeJS.ProcessEnv): void {
  const keys = program
    .command("keys")
    .description(
      "Create, list and revoke the API keys of a data folder or of a PostgreSQL database. Running servers apply changes immediately.",
    );
  addHelpExamples(keys, ["millrace keys create --name laptop", "millrace keys list"]);
  const addSubcommand = (name: string): Command => addDataFlags(keys.command(name), env);
  addHelpExamples(addSubcommand("create"), [
    "millrace keys create --name laptop",
    "millrace keys create --name service --scope ingest",
    "millrace keys create --tenant acme --name ci --data ./traces",
    "MILLRACE_STORE_URL=postgres://app:secret@db/traces millrace keys create --name service",
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
        "what the key permits: ingest (send runs and feedback), read (read data), write (both, and change data), admin (everything)",
      )
        .choices(keyScopes)
        .default(["admin"], "admin"),
    )
    .action(
      async ({ data, name, tenant, scope: scopes }: DataFlags & CreateFlags, command: Command) => {
        const draft = { name, scopes, ...(tenant !== undefined && { tenant }) };
        const store = await findStore(command, env);
        const { id, key } = await withKeys({ data, store }, (opened) => opened.create(draft), {
          // A key can be created before the first start of the server.
          mustExist: false,
        });
        process.stdout.write(`${key}\n`);
        process.stderr.write(`key ${id}; only its digest is stored, so it can't be shown again\n`);
      },
    );
  addHelpExamples(addSubcommand("list"), ["millrace keys list", "millrace keys list --json"])
    .description("List the keys by their last characters, including revoked ones.")
    .option("--json", "print one JSON object per line")
    .action(async ({ data, json }: DataFlags & { json?: true }, command: Command) => {
      const store = await findStore(command, env);
      const listed = await withKeys({ data, store }, (opened) => opened.list());
      const lines = listed.map(json === true ? toJson : toLine);
      process.stdout.write(lines.map((line) => `${line}\n`).join(""));
    });
  addHelpExamples(addSubcommand("revoke"), [
    "millrace keys revoke 0190a6c2-1f0a-7000-8000-000000000001",
  ])
    .description("Revoke a key; the server refuses it from the next request on.")
    .argument("<id>", "id of the key, as shown by list")
    .action(async (id: string, { data }: DataFlags, command: Command) => {
      const store = await findStore(command, env);
      const { hint } = await withKeys({ data, store }, (opened) => opened.revoke(id));
      process.stdout.write(`revoked the key that ends in ${hint}\n`);
    });
}

/** The keys of a data folder or of a PostgreSQL database. */
interface OpenedKeys {
  create(draft: KeyDraft): Promise<{ readonly id: string; readonly key: string }>;
  list(): Promise<readonly ListedKey[]>;
  /** @returns the last characters of the key, as the list shows them */
  revoke(id: string): Promise<{ readonly hint: string }>;
  close(): void | Promise<void>;
}

async function withKeys<Result>(
  { data, store }: { readonly data: string; readonly store: string | undefined },
  callback: (keys: OpenedKeys) => Promise<Result>,
  { mustExist = true }: { readonly mustExist?: boolean } = {},
): Promise<Result> {
  const { KeyStore, PostgresKeyStore } = await import("@millrace/server");
  const keys: OpenedKeys =
    store === undefined ? new KeyStore(data, { mustExist }) : await PostgresKeyStore.open(store);
  try {
    return await callback(keys);
  } finally {
    await keys.close();
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
