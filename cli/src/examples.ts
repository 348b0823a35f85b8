import type { Command } from "commander";

/** Adds the examples that every command has at the end of its help, one command line each. */
export const addExamples = (command: Command, lines: readonly string[]): Command =>
  command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`);
