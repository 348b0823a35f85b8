import { Command, CommanderError } from "commander";
import { version } from "millrace/model";
import { addBench } from "./bench/bench.ts";
import { addKeys } from "./keys.ts";
import { addDownload } from "./download.ts";
import { addReplay } from "./replay.ts";
import { addServe } from "./serve.ts";
import { addSpool } from "./spool.ts";
import { addUpload } from "./upload.ts";
import { UsageError } from "./usage-error.ts";

/** Exit codes of the command. */
const succeeded = 0;
const failed = 1;
const misused = 2;
const succeededInPart = 3;

/** Runs the command line; resolves with the exit code when it is done. */
export async function runCommand(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const program = new Command("millrace")
    .description("Records what language-model applications do.")
    .version(version, "--version", "print the version")
    .exitOverride();
  addServe(program, env);
  addKeys(program);
  addSpool(program);
  addReplay(program);
  let code = succeeded;
  addUpload(program, () => void (code = succeededInPart));
  addDownload(program);
  addBench(program, () => void (code = succeededInPart));
  try {
    await program.parseAsync(argv);
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
