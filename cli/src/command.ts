import { Command, CommanderError } from "commander";
import { version } from "millrace/model";
import { addBench } from "./commands/bench.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addExamples } from "./examples.ts";
import { addKeys } from "./commands/keys.ts";
import { addDownload } from "./commands/download.ts";
import { addReplay } from "./commands/replay.ts";
import { addServe } from "./commands/serve.ts";
import { addSpool } from "./commands/spool.ts";
import { addUpload } from "./commands/upload.ts";
import { UsageError } from "./usage-error.ts";

/** Exit codes of the command. */
const succeeded = 0;
const failed = 1;
const misused = 2;
const succeededInPart = 3;

/** The command line; `setCode` is called with the exit code of a command that did not do all of its work. */
export function createProgram(env: NodeJS.ProcessEnv, setCode: (code: number) => void): Command {
  const onPartial = (): void => setCode(succeededInPart);
  const program = new Command("millrace")
    .description("Record what language-model applications do: the server and its tools.")
    .version(version, "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .exitOverride();
  addExamples(program, [
    "millrace serve",
    "millrace doctor",
    "millrace upload questions.csv --dataset questions --create",
    "millrace help upload",
  ]);
  addServe(program, env);
  addDoctor(program, { env, onFailed: () => setCode(failed) });
  addKeys(program);
  addUpload(program, onPartial);
  addDownload(program);
  addSpool(program);
  addReplay(program);
  addBench(program, onPartial);
  return program;
}

/** Runs the command line; resolves with the exit code when it is done. */
export async function runCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  let code = succeeded;
  try {
    await createProgram(env, (told) => void (code = told)).parseAsync(argv);
    return code;
  } catch (cause) {
    return explain(cause);
  }
}

function explain(cause: unknown): number {
  if (cause instanceof CommanderError) {
    // commander has written the message itself; help and version are no failures.
    return cause.exitCode === 0 ? succeeded : misused;
  }
  process.stderr.write(`error: ${cause instanceof Error ? cause.message : String(cause)}\n`);
  return cause instanceof UsageError ? misused : failed;
}
