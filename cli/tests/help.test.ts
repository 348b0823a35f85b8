import { CommanderError } from "commander";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { createProgram } from "../src/command.ts";
import { ended, start } from "./support/command.ts";

const program = createProgram({}, () => undefined);

const commandsBelow = (command: Command): readonly Command[] => [
  command,
  ...command.commands.flatMap(commandsBelow),
];

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

const helpOf = (command: Command): string => {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 80 });
  command.outputHelp();
  return text;
};

const examplesIn = (help: string): readonly string[] =>
  [...(help.split("\nExamples:\n")[1] ?? "").matchAll(/^ {2}\$ (.+)$/gm)].map(
    ([, line = ""]) => line,
  );

/**
 * The arguments after `millrace`, as a shell passes them. Ignores what precedes the command, and anything after
 * a pipe.
 */
const argumentsOf = (line: string): readonly string[] =>
  [...(/\bmillrace(?= |$)([^|>]*)/.exec(line)?.[1] ?? "").matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain ?? "",
  );

const all = commandsBelow(program).map((command) => [pathOf(command), command] as const);

test("every command is in the list of tested commands", () => {
  expect(all.map(([path]) => path)).toEqual(
    expect.arrayContaining(["millrace doctor", "millrace keys create", "millrace spool inspect"]),
  );
});

describe.each(all)("the help of %s", (path, command) => {
  const help = helpOf(command);
  const examples = examplesIn(help);

  test("has a sentence, consistent option texts, and examples of the command", () => {
    expect(command.description()).toMatch(/^[A-Z].*\.$/);
    for (const { description } of command.options) {
      expect(description).toMatch(/^(?:[a-z]|TCP|API|JSON)/);
      expect(description).not.toMatch(/\.$|left out/);
    }
    expect(examples.length).toBeGreaterThan(0);
    expect(examples.some((line) => line.includes(path))).toBe(true);
  });

  test("has no line beyond 80 columns except in its examples", () => {
    const [text = ""] = help.split("\nExamples:\n");
    expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  test.each(examples)("`%s` parses", async (line) => {
    const parsed: string[] = [];
    const fresh = createProgram({}, () => undefined);
    for (const one of commandsBelow(fresh)) {
      one.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
      if (one.commands.length === 0) {
        one.action(() => void parsed.push(pathOf(one)));
      }
    }
    const words = argumentsOf(line);
    // `help` has no action: it prints, and commander reports that by throwing.
    const end = await fresh.parseAsync(words, { from: "user" }).catch((cause: unknown) => cause);
    const isHelp = end instanceof CommanderError && end.code === "commander.help";
    expect(end === fresh || isHelp).toBe(true);
    expect(parsed).toHaveLength(isHelp ? 0 : 1);
  });
});

describe("a misspelt command or option", () => {
  test.each([
    [["uplaod", "a.csv"], "unknown command 'uplaod'\n(Did you mean upload?)"],
    [["docter"], "unknown command 'docter'\n(Did you mean doctor?)"],
    [["upload", "a.csv", "--datset", "x"], "unknown option '--datset'\n(Did you mean --dataset?)"],
    [["serve", "--prot", "1"], "unknown option '--prot'\n(Did you mean --port?)"],
    [["spool", "inspct"], "unknown command 'inspct'\n(Did you mean inspect?)"],
    [["keys", "list", "--jsn"], "unknown option '--jsn'\n(Did you mean --json?)"],
  ])("%j is reported with the most similar one", async (args, message) => {
    const { code, errors } = await ended(start(args));
    expect({ code, errors }).toEqual({ code: 2, errors: `error: ${message}\n` });
  });
});

test("a reader that ends first, such as head, does not make the command fail", async () => {
  const child = start(["serve", "--help"]);
  child.stdout.destroy();
  expect(await ended(child)).toMatchObject({ code: 0, errors: "" });
});
