import type { Command } from "commander";
import { OptionError } from "millrace/model";
import type { ReplayOptions, ReplayResult } from "millrace/spool";
import { addExamples } from "../examples.ts";
import { addServerFlags } from "../local-server/server-flags.ts";
import type { ServerFlags } from "../local-server/server-flags.ts";
import { UsageError } from "../usage-error.ts";

interface ReplayFlags extends ServerFlags {
  readonly limit: string;
  readonly deadLetters: boolean;
}

/** Adds `millrace replay`. */
export function addReplay(program: Command): void {
  const command = program
    .command("replay")
    .description("Send the runs of a spool folder (option spoolDir), dead letters included.")
    .argument("<folder>", "option spoolDir of the client")
    .option("--limit <seconds>", "longest that it takes", "300")
    .option("--no-dead-letters", "leave what the server refused where it is");
  addExamples(command, [
    "millrace replay ./spool",
    "millrace replay ./spool --endpoint http://127.0.0.1:1984 --limit 60",
  ]);
  addServerFlags(command).action(replay);
}

async function replay(folder: string, flags: ReplayFlags): Promise<void> {
  const { endpoint, apiKey, limit, deadLetters } = flags;
  const { delivered, rejected, dropped, left } = await send({
    spoolDir: folder,
    endpoint,
    apiKey,
    deadLetters,
    limitMs: parseSeconds(limit) * 1_000,
  });
  process.stdout.write(
    `delivered ${delivered}, refused ${rejected}, left ${left}, lost ${dropped} records\n`,
  );
  if (rejected + dropped + left > 0) {
    throw new Error(
      "not all of it was delivered: the same command tries again what is left or was refused",
    );
  }
}

async function send(options: ReplayOptions): Promise<ReplayResult> {
  const { replaySpool } = await import("millrace/spool");
  try {
    return await replaySpool(options);
  } catch (cause) {
    throw cause instanceof OptionError ? new UsageError(cause.message, { cause }) : cause;
  }
}

function parseSeconds(text: string): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) === 0) {
    throw new UsageError(`--limit is a whole number of seconds, not ${JSON.stringify(text)}`);
  }
  return Number(text);
}
