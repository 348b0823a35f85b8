import type { RunningWriter, WriterOptions } from "@millrace/server/work";
import type { Command } from "commander";
import { OptionError } from "millrace/model";
import { addHelpExamples } from "../examples.ts";
import { waitForStopRequest } from "../transfers/stop-request.ts";
import { UsageError } from "../usage-error.ts";
import { defaultDataDir } from "../data-folder.ts";

interface WorkFlags {
  readonly store?: string;
  readonly log?: string;
  readonly data: string;
  readonly port?: string;
  readonly host: string;
}

export function addWork(program: Command, env: NodeJS.ProcessEnv): void {
  const command = program
    .command("work")
    .description(
      "Store the runs of the ingest log in PostgreSQL, and perform jobs; Ctrl-C stops it. Several such processes may run at the same time.",
    )
    .option(
      "--store <url>",
      "address of the servers' PostgreSQL database; also MILLRACE_STORE_URL, which hides the password from the list of processes",
    )
    .option(
      "--log <url>",
      "address of the servers' ingest log; without it, only jobs are performed; also MILLRACE_LOG, which hides a password from the list of processes",
    )
    .option(
      "--data <folder>",
      "folder with the servers' token.key; also MILLRACE_DATA_DIR",
      defaultDataDir,
    )
    .option(
      "--port <number>",
      "TCP port for /health/live, /health/ready and /metrics, which need no key; 0 picks a free one; none by default; also MILLRACE_WORK_PORT",
    )
    .option("--host <address>", "address to listen on; also MILLRACE_WORK_HOST", "127.0.0.1")
    .action(async (flags: WorkFlags) => {
      await work(
        {
          store: requireStore(flags.store ?? env["MILLRACE_STORE_URL"]),
          ...toLogOption(ignoreEmpty(flags.log ?? env["MILLRACE_LOG"])),
          dataDir: findVariable(command, "data", env["MILLRACE_DATA_DIR"]) ?? flags.data,
          host: findVariable(command, "host", env["MILLRACE_WORK_HOST"]) ?? flags.host,
          ...parsePort(flags.port ?? ignoreEmpty(env["MILLRACE_WORK_PORT"])),
        },
        env,
      );
    });
  addHelpExamples(command, [
    "MILLRACE_STORE_URL=postgres://app:secret@db/traces millrace work --log nats://a,b,c --data ./keys",
    "millrace work --store postgres://db/traces --log nats://a,b,c --port 1940 --host 0.0.0.0",
    "millrace work --store postgres://db/traces",
  ]);
}

async function work(options: WriterOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const stopRequest = waitForStopRequest(env);
  const writer = await start(options);
  process.stdout.write(
    writer.log === undefined
      ? "millrace performs the jobs of the servers that use this database\n"
      : `millrace stores the runs of the log ${writer.log} in PostgreSQL, and performs jobs\n`,
  );
  if (writer.port !== undefined) {
    process.stdout.write(
      `Health checks are answered at http://${options.host}:${writer.port}/health/ready\n`,
    );
  }
  await stopRequest;
  await writer.close();
}

async function start(options: WriterOptions): Promise<RunningWriter> {
  const { startWriter } = await import("@millrace/server/work");
  try {
    return await startWriter(options);
  } catch (cause) {
    if (cause instanceof OptionError) {
      const message = cause.message.replace(
        /^(?:store|log|port)\b/,
        (name) => flagTexts[name as keyof typeof flagTexts],
      );
      throw new UsageError(message, { cause });
    }
    throw cause;
  }
}

const flagTexts = {
  store: "--store (MILLRACE_STORE_URL)",
  log: "--log (MILLRACE_LOG)",
  port: "--port (MILLRACE_WORK_PORT)",
} as const;

function requireStore(value: string | undefined): string {
  if (value === undefined || value === "") {
    throw new UsageError(
      `millrace work needs the database of the servers: pass ${flagTexts.store}`,
    );
  }
  return value;
}

const toLogOption = (log: string | undefined): Pick<WriterOptions, "log"> =>
  log === undefined ? {} : { log };

function parsePort(text: string | undefined): { readonly port?: number } {
  if (text !== undefined && !/^\d{1,5}$/.test(text)) {
    throw new UsageError(
      `${flagTexts.port} must be a whole number from 0 to 65535, not ${JSON.stringify(text)}`,
    );
  }
  return text === undefined ? {} : { port: Number(text) };
}

/**
 * Returns the value of an environment variable; `undefined` if it is empty, or if the flag that overrides it is given.
 */
const findVariable = (
  command: Command,
  flag: string,
  value: string | undefined,
): string | undefined =>
  command.getOptionValueSource(flag) === "default" ? ignoreEmpty(value) : undefined;

const ignoreEmpty = (value: string | undefined): string | undefined =>
  value === "" ? undefined : value;
