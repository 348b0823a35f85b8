import type { Command } from "commander";
import { OptionError } from "millrace/model";
import type { ReplayOptions, ReplayResult } from "millrace/spool";
import { addHelpExamples } from "../examples.ts";
import { addServerFlags } from "../local-server/server-flags.ts";
import type { ServerFlags } from "../local-server/server-flags.ts";
import { UsageError } from "../usage-error.ts";

interface ReplayFlags extends ServerFlags {
  readonly limit: string;
  readonly deadLetters: boolean;
}

export function addReplay(program: Command): void {
  const command = program
    .command("replay")
    .description(
      "Send the runs in a spool folder (client option spoolDir), including dead letters.",
    )
    .argument("<folder>", "spool folder: the client's option spoolDir")
    .option("--limit <seconds>", "maximum duration", "300")
    .option("--no-dead-letters", "don't resend runs that the server refused");
  addHelpExamples(command, [
    "millrace replay ./spool",
    "millrace replay ./spool --endpoint http://127.0.0.1:1984 --limit 60",
  ]);
  addServerFlags(command).action(replay);
}

async function replay(folder: string, flags: ReplayFlags): Promise<void> {
  const { endpoint, apiKey, limit, deadLetters } = flags;
  const { delivered, rejected, dropped, left, unreadable } = await send({
    spoolDir: folder,
    endpoint,
    apiKey,
    deadLetters,
    limitMs: parseSeconds(limit) * 1_000,
  });
  process.stdout.write(
    `delivered ${delivered}, refused ${rejected}, remaining ${left}, lost ${dropped} records\n`,
  );
  const problems: string[] = [];
  if (rejected + dropped + left > 0) {
    problems.push(
      "some records were not delivered; run the same command again to retry those that remain or were refused",
    );
  }
  if (unreadable.length > 0) {
    problems.push(
      `parts of ${unreadable.join(", ")} can't be read and stay on disk; "millrace spool verify" lists them`,
    );
  }
  if (problems.length > 0) {
    throw new Error(problems.join("; "));
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
    throw new UsageError(`--limit must be a whole number of seconds, not ${JSON.stringify(text)}`);
  }
  return Number(text);
}
