import type { KeyStore, ListedKey } from "@millrace/server";
import type { Command } from "commander";
import { addExamples } from "../examples.ts";
import { defaultDataDir } from "./serve.ts";

interface DataFlag {
  readonly data: string;
}

/** Adds `millrace keys create|list|revoke`. */
export function addKeys(program: Command): void {
  const keys = program
    .command("keys")
    .description(
      "Create, list and revoke the API keys of a data folder; a running server takes them at once.",
    );
  addExamples(keys, ["millrace keys create --name laptop", "millrace keys list"]);
  const add = (name: string): Command =>
    keys.command(name).option("--data <folder>", "folder of the database", defaultDataDir);
  addExamples(add("create"), [
    "millrace keys create --name laptop",
    "millrace keys create --tenant acme --name ci --data ./traces",
  ])
    .description(
      "Create a key and print it, this once. The first key closes the server to everyone without one.",
    )
    .option("--tenant <handle>", "tenant of the key, created when missing (default: the first one)")
    .option("--name <text>", "what the key is for", "")
    .action(async ({ data, ...draft }: DataFlag & { name: string; tenant?: string }) => {
      const { id, key } = await withKeys(data, (store) => store.create(draft));
      process.stdout.write(`${key}\n`);
      process.stderr.write(`key ${id}; it is kept as a digest alone and is not shown again\n`);
    });
  addExamples(add("list"), ["millrace keys list", "millrace keys list --json"])
    .description("List the keys by their last characters, revoked ones too.")
    .option("--json", "print one JSON object a line")
    .action(async ({ data, json }: DataFlag & { json?: true }) => {
      const lines = (await withKeys(data, (store) => store.list())).map(
        json === true ? toJson : toLine,
      );
      process.stdout.write(lines.map((line) => `${line}\n`).join(""));
    });
  addExamples(add("revoke"), ["millrace keys revoke 0190a6c2-1f0a-7000-8000-000000000001"])
    .description("Revoke a key; requests with it are refused from the next one on.")
    .argument("<id>", "id of the key, as list shows it")
    .action(async (id: string, { data }: DataFlag) => {
      const { hint } = await withKeys(data, (store) => store.revoke(id));
      process.stdout.write(`revoked the key that ends in ${hint}\n`);
    });
}

async function withKeys<Result>(data: string, work: (store: KeyStore) => Result): Promise<Result> {
  const { KeyStore } = await import("@millrace/server");
  const store = new KeyStore(data);
  try {
    return work(store);
  } finally {
    store.close();
  }
}

const timeOf = (micros: number): string => new Date(micros / 1_000).toISOString();

const toLine = ({ id, hint, name, tenantHandle, tenantId, ...key }: ListedKey): string =>
  [
    id,
    `...${hint}`,
    tenantHandle ?? tenantId,
    timeOf(key.createdMicros),
    key.revokedMicros === null ? "valid" : `revoked ${timeOf(key.revokedMicros)}`,
    // A name is the caller's: as JSON it can't move the terminal's cursor.
    JSON.stringify(name),
  ].join("  ");

const toJson = ({ createdMicros, revokedMicros, ...key }: ListedKey): string =>
  JSON.stringify({
    ...key,
    createdAt: timeOf(createdMicros),
    revokedAt: revokedMicros === null ? null : timeOf(revokedMicros),
  });
