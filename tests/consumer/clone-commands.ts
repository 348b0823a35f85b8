import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { repositoryRoot } from "./installed.ts";

/**
 * Checks a command for a clone of the repository. Running it here would install, build or measure for minutes
 * next to the other tests; CI runs these commands instead. This check only makes sure that each part exists.
 *
 * @returns what is wrong with the command; an empty text if nothing is.
 */
export async function faultOfCloneCommand(command: string): Promise<string> {
  const [program = "", ...args] = withoutVariables(command).split(/\s+/);
  if (program === "npm") {
    return faultOfNpm(args);
  }
  if (program === "npx" && args[0] === "vitest") {
    return faultOfFile(args.at(-1) ?? "");
  }
  if (program === "npx" && args[0] === "vite") {
    return faultOfFile(`${args[1]}/vite.config.ts`);
  }
  const [file = ""] = args[0] === "--import" ? args.slice(2) : args;
  return program === "node" ? faultOfFile(file) : "no test knows what this is";
}

const withoutVariables = (command: string): string => command.replace(/^(?:[A-Z_]+=\S+ )+/, "");

const faultOfFile = (path: string): string =>
  existsSync(join(repositoryRoot, path)) ? "" : `there is no ${path}`;

async function faultOfNpm(args: readonly string[]): Promise<string> {
  const prefixed = args[0] === "--prefix" || args[0] === "-w";
  const [verb = "", ...rest] = prefixed ? args.slice(2) : args;
  const workspace = rest.indexOf("--workspace");
  const folder = (prefixed ? args[1] : rest[workspace + 1 || rest.length]) ?? "";
  if (verb === "ci") {
    return faultOfFile(join(folder, "package-lock.json"));
  }
  const name = verb === "run" ? (rest[0] ?? "") : verb;
  const { scripts } = JSON.parse(
    await readFile(join(repositoryRoot, folder, "package.json"), "utf8"),
  ) as { readonly scripts: Readonly<Record<string, string>> };
  const script = scripts[name];
  if (script === undefined) {
    return `${join(folder, "package.json")} has no script ${name}`;
  }
  const options = rest.slice(rest.indexOf("--") + 1 || rest.length);
  return faultOfOptions({ script, folder, options });
}

interface Script {
  readonly script: string;
  readonly folder: string;
  readonly options: readonly string[];
}

/** Checks that the script's program, or a file that it imports, defines each option. */
async function faultOfOptions({ script, folder, options }: Script): Promise<string> {
  const names = options.filter((text) => text.startsWith("--")).map((text) => text.slice(2));
  if (names.length === 0) {
    return "";
  }
  const nested = /npm --prefix (\w+) run (\w+)[^&]*$/.exec(script);
  if (nested !== null) {
    const [, inner = "", name = ""] = nested;
    return faultOfNpm(["--prefix", inner, "run", name, "--", ...options]);
  }
  const file = /([\w./-]+\.(?:ts|mjs))/.exec(script)?.[1];
  const source = file === undefined ? "" : await sourceOf(join(repositoryRoot, folder, file));
  const unknown = names.filter((name) => !new RegExp(`\\b${name}["']?:|"--${name}"`).test(source));
  return unknown.length === 0 ? "" : `${script} has no option ${unknown.join(", ")}`;
}

/** The text of a source file and of all files of the repository that it imports, each once. */
async function sourceOf(path: string, visited = new Set<string>()): Promise<string> {
  if (visited.has(path) || relative(repositoryRoot, path).startsWith("..")) {
    return "";
  }
  visited.add(path);
  const text = await readFile(path, "utf8");
  const imports = [...text.matchAll(/from "(\.[^"]+)"/g)].map(([, name = ""]) => name);
  const others = await Promise.all(
    imports.map((name) => sourceOf(join(dirname(path), name), visited)),
  );
  return [text, ...others].join("\n");
}
