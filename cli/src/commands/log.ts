import type { DeadLetter, IngestLog, LogState } from "@millrace/server/log";
import type { Command } from "commander";
import { OptionError } from "millrace/model";
import { addHelpExamples } from "../examples.ts";
import { toPrintable } from "../to-printable.ts";
import { UsageError } from "../usage-error.ts";

interface LogFlags {
  readonly log?: string;
  readonly json?: true;
}

/** Number of dead letters that are listed by default. */
const defaultLimit = 100;
/** Maximum number of dead letters that are listed. */
const maxLimit = 10_000;

/** Adds `millrace log status|dead-letters|replay`. */
export function addLog(program: Command, env: NodeJS.ProcessEnv): void {
  const log = program
    .command("log")
    .description(
      "Inspect the ingest log of servers that were started with --log, and replay dead letters.",
    );
  addHelpExamples(log, [
    "millrace log status --log nats://10.0.0.1,10.0.0.2,10.0.0.3",
    "MILLRACE_LOG=nats://10.0.0.1 millrace log replay --all",
  ]);
  const addSubcommand = (name: string): Command =>
    log
      .command(name)
      .option("--log <url>", "address of the log, such as nats://a,b,c; also MILLRACE_LOG");
  addHelpExamples(addSubcommand("status"), ["millrace log status --log nats://10.0.0.1"])
    .description(
      "Print the number of waiting messages, how long the oldest has waited, and the number of dead letters.",
    )
    .option("--json", "print one JSON object")
    .action(async ({ json, ...flags }: LogFlags) => {
      const text = await withLog(flags, env, async (opened) => {
        const state = await opened.readState();
        return json === true ? JSON.stringify(state) : formatState(opened.address, state);
      });
      process.stdout.write(`${text}\n`);
    });
  addHelpExamples(addSubcommand("dead-letters"), [
    "millrace log dead-letters --log nats://10.0.0.1",
    "millrace log dead-letters --log nats://10.0.0.1 --json --limit 1000",
  ])
    .description(
      "List the dead letters, which are parts of requests that could not be stored, the oldest first, with the reasons.",
    )
    .option("--limit <number>", "dead letters to list", String(defaultLimit))
    .option("--json", "print one JSON object per line")
    .action(async ({ json, limit, ...flags }: LogFlags & { readonly limit: string }) => {
      const letters = await withLog(flags, env, (opened) =>
        opened.listDeadLetters(parseLimit(limit)),
      );
      const lines = letters.map((letter) =>
        json === true ? JSON.stringify(letter) : formatLetter(letter),
      );
      process.stdout.write(lines.map((line) => `${line}\n`).join(""));
    });
  addHelpExamples(addSubcommand("replay"), [
    "millrace log replay 17 18 --log nats://10.0.0.1",
    "millrace log replay --all --log nats://10.0.0.1",
  ])
    .description(
      "Put dead letters back into the log, so that they are stored again. This may be repeated, because a run is stored only once.",
    )
    .argument("[numbers...]", "numbers of dead letters, as dead-letters shows them")
    .option("--all", "replay all of them")
    .action(async (numbers: readonly string[], { all, ...flags }: LogFlags & { all?: true }) => {
      if ((all === true) === numbers.length > 0) {
        throw new UsageError("give either the numbers of dead letters, or --all");
      }
      const count = await withLog(flags, env, (opened) =>
        opened.replay(all === true ? "all" : numbers.map(parseSequence)),
      );
      const letters = count === 1 ? "1 dead letter" : `${count} dead letters`;
      process.stdout.write(`put ${letters} back into the log\n`);
    });
}

async function withLog<Result>(
  { log }: LogFlags,
  env: NodeJS.ProcessEnv,
  callback: (log: IngestLog) => Promise<Result>,
): Promise<Result> {
  const url = log ?? env["MILLRACE_LOG"];
  if (url === undefined || url === "") {
    throw new UsageError("name the log: --log nats://a,b,c, or the variable MILLRACE_LOG");
  }
  const { IngestLog } = await import("@millrace/server/log");
  let opened: IngestLog;
  try {
    opened = await IngestLog.open(url);
  } catch (cause) {
    if (cause instanceof OptionError) {
      const message = cause.message.replace(/^log\b/, "--log (MILLRACE_LOG)");
      throw new UsageError(message, { cause });
    }
    throw cause;
  }
  try {
    return await callback(opened);
  } finally {
    await opened.close();
  }
}

function parseLimit(text: string): number {
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > maxLimit) {
    throw new UsageError(
      `--limit must be a whole number from 1 to ${maxLimit}, not ${JSON.stringify(text)}`,
    );
  }
  return limit;
}

function parseSequence(text: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    throw new UsageError(
      `the number of a dead letter must be a whole number, as "millrace log dead-letters" shows it, not ${JSON.stringify(text)}`,
    );
  }
  return Number(text);
}

const formatState = (address: string, state: LogState): string =>
  [
    `log           ${address}, on ${state.replicas === 1 ? "1 server" : `${state.replicas} servers`}`,
    `waiting       ${state.waitingMessages} messages, ${state.waitingBytes} of ${state.maxBytes} bytes`,
    `large runs    ${state.objectBytes} bytes`,
    `in progress   ${state.inWork} messages`,
    `lag           ${state.lagSeconds.toFixed(1)} s`,
    `dead letters  ${state.deadLetters}`,
  ].join("\n");

const formatLetter = ({ sequence, time, tenantId, reason, bytes }: DeadLetter): string =>
  [sequence, time, tenantId ?? "unknown tenant", `${bytes} bytes`, toPrintable(reason)].join("  ");
