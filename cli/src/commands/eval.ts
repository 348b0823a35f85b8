import type { Command } from "commander";
import { addHelpExamples } from "../examples.ts";
import type { EvalFlags } from "../evaluation/run-eval.ts";
import { addServerFlags } from "../local-server/server-flags.ts";

const append = (text: string, texts: readonly string[]): readonly string[] => [...texts, text];

/** Adds `millrace eval`. `onFailed` is called if an evaluation exceeds a limit. */
export function addEval(
  program: Command,
  { env, onFailed }: { readonly env: NodeJS.ProcessEnv; readonly onFailed: () => void },
): void {
  const command = program
    .command("eval")
    .description(
      "Run files with evaluations, and fail if the results exceed the limits that the options set.",
    )
    .argument("[file...]", "paths, glob patterns or folders with files *.eval.ts or *.eval.js")
    .option("--baseline <name>", "experiment to compare with; a regression is a failure")
    .option(
      "--fail-under <key=minimum>",
      "lowest average of a score, such as right=0.8; may be repeated",
      append,
      [],
    )
    .option("--max-errors <count>", "maximum failures of targets and evaluators", "0")
    .option("--max-regressions <count>", "maximum regressions against the baseline", "0")
    .option("--repetitions <count>", "how often each example is evaluated")
    .option("--concurrency <count>", "maximum rows in progress")
    .option("--cache <mode>", "how to cache responses of models: auto, record or replay")
    .option("--cache-folder <folder>", "folder of the recorded responses (default: millrace-cache)")
    .option(
      "--reporter <format=file>",
      "write a report: json, junit or markdown; may be repeated",
      append,
      [],
    )
    .option("--watch", "run a file again when it or a module that it loads changes");
  addHelpExamples(command, [
    "millrace eval",
    "millrace eval support.eval.ts --cache auto --watch",
    "millrace eval evals --baseline main --fail-under right=0.8 --reporter junit=report.xml",
  ]);
  addServerFlags(command).action(async (files: readonly string[], flags: EvalFlags) => {
    // Load this module on demand, so that other commands start faster.
    const { runEval } = await import("../evaluation/run-eval.ts");
    if (!(await runEval(files, flags, { env, screen: process.stdout }))) {
      onFailed();
    }
  });
}
