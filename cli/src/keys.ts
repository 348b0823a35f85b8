import type { KeyDesk, ListedKey } from "@millrace/server";
import type { Command } from "commander";
import { defaultDataDir } from "./serve.ts";

interface DataFlag {
  readonly data: string;
}

/** Adds `millrace keys create|list|revoke`. */
export function addKeys(program: Command): void {
  const keys = program
    .command("keys")
    .description(
      "Make, list and revoke the API keys of a data folder; a running server heeds them.",
    );
  const add = (name: string): Command =>
    keys.command(name).option("--data <folder>", "folder of the database", defaultDataDir);
  add("create")
    .description(
      "Make a key and print it, this once. The first key closes the server to all others.",
    )
    .option(
      "--tenant <handle>",
      "tenant that it lets in, made when missing; left out: the first one",
    )
    .option("--name <text>", "what it is for", "")
    .action(async ({ data, ...draft }: DataFlag & { name: string; tenant?: string }) => {
      const { id, key } = await atDesk(data, (desk) => desk.create(draft));
      process.stdout.write(`${key}\n`);
      process.stderr.write(`key ${id}; it is kept as a digest alone and is not shown again\n`);
    });
  add("list")
    .description("List the keys by their last characters, revoked ones too.")
    .option("--json", "one JSON object a line")
    .action(async ({ data, json }: DataFlag & { json?: true }) => {
      const lines = (await atDesk(data, (desk) => desk.list())).map(
        json === true ? toJson : toLine,
      );
      process.stdout.write(lines.map((line) => `${line}\n`).join(""));
    });
  add("revoke")
    .description("End a key; whoever sends it is refused from the next request on.")
    .argument("<id>", "the key's id, as list shows it")
    .action(async (id: string, { data }: DataFlag) => {
      const { hint } = await atDesk(data, (desk) => desk.revoke(id));
      process.stdout.write(`revoked the key that ends in ${hint}\n`);
    });
}

async function atDesk<Result>(data: string, work: (desk: KeyDesk) => Result): Promise<Result> {
  const { KeyDesk } = await import("@millrace/server");
  const desk = new KeyDesk(data);
  try {
    return work(desk);
  } finally {
    desk.close();
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
