import type { Command } from "commander";

/** Adds examples to the end of a command's help, one command line each. */
export const addHelpExamples = (command: Command, lines: readonly string[]): Command =>
  command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`);
