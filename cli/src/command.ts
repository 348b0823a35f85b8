import { Command, CommanderError } from "commander";
import { version } from "millrace/model";
import { addAudit } from "./commands/audit.ts";
import { addBackup } from "./commands/backup.ts";
import { addBench } from "./commands/bench.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addEval } from "./commands/eval.ts";
import { addHelpExamples } from "./examples.ts";
import { addImport } from "./commands/import.ts";
import { addKeys } from "./commands/keys.ts";
import { addDownload } from "./commands/download.ts";
import { addLog } from "./commands/log.ts";
import { addMove } from "./commands/move.ts";
import { addPrices } from "./commands/prices.ts";
import { addReplay } from "./commands/replay.ts";
import { addServe } from "./commands/serve.ts";
import { addSpool } from "./commands/spool.ts";
import { addUpload } from "./commands/upload.ts";
import { addWork } from "./commands/work.ts";
import { UsageError } from "./usage-error.ts";

// The exit codes of the command.
const successCode = 0;
const failureCode = 1;
const usageErrorCode = 2;
const partialSuccessCode = 3;

/**
 * Creates the program with all of its commands. `setExitCode` is called if a command runs to its end but does not fully
 * succeed: if it completed only a part of its work, `doctor` found a failure, or an evaluation exceeded a limit.
 */
export function createProgram(
  env: NodeJS.ProcessEnv,
  setExitCode: (code: number) => void,
): Command {
  const onPartialSuccess = (): void => setExitCode(partialSuccessCode);
  const program = new Command("millrace")
    .description("Record and inspect what LLM applications do: the server and its tools.")
    .version(version, "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .exitOverride();
  addHelpExamples(program, [
    "millrace serve",
    "millrace doctor",
    "millrace upload questions.csv --dataset questions --create",
    "millrace eval support.eval.ts",
    "millrace help upload",
  ]);
  addServe(program, env);
  addDoctor(program, { env, onFailed: () => setExitCode(failureCode) });
  addEval(program, { env, onFailed: () => setExitCode(failureCode) });
  addWork(program, env);
  addKeys(program, env);
  addAudit(program, env);
  addBackup(program, env);
  addMove(program, env);
  addLog(program, env);
  addPrices(program, env);
  addUpload(program, onPartialSuccess);
  addDownload(program);
  addImport(program, { env, onPartialSuccess });
  addSpool(program);
  addReplay(program);
  addBench(program, onPartialSuccess);
  return program;
}

/** Runs the command that `argv` names. Resolves with the exit code once the command has completed. */
export async function runCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  let exitCode = successCode;
  try {
    await createProgram(env, (newCode) => void (exitCode = newCode)).parseAsync(argv);
    return exitCode;
  } catch (cause) {
    return reportError(cause);
  }
}

function reportError(cause: unknown): number {
  if (cause instanceof CommanderError) {
    // commander has already written the message. Printing the help or the version is not a failure.
    return cause.exitCode === 0 ? successCode : usageErrorCode;
  }
  process.stderr.write(`error: ${cause instanceof Error ? cause.message : String(cause)}\n`);
  return cause instanceof UsageError ? usageErrorCode : failureCode;
}
