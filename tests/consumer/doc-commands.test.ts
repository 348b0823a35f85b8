import { chmod, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { Client } from "millrace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { faultOfCloneCommand } from "./clone-commands.ts";
import { commandsOf, documentedPages, partsOf } from "./documented.ts";
import type { DocumentedCommand } from "./documented.ts";
import { repositoryRoot } from "./installed.ts";
import { startLocalRegistry } from "./local-registry.ts";
import type { LocalRegistry } from "./local-registry.ts";
import { openShell } from "./shell.ts";
import type { Shell } from "./shell.ts";

let registry: LocalRegistry;
let server: RunningServer;
let shell: Shell;

/** Prepares a folder with everything that the pages assume: packages, a running server, environment variables, files. */
beforeAll(async () => {
  registry = await startLocalRegistry();
  server = await startServer({ port: 0, dataDir: ":memory:" });
  shell = await openShell({
    ...registry.environment,
    MILLRACE_ENDPOINT: server.url,
  });
  const { folder } = shell;
  await succeed("npm install millrace @millrace/cli");
  await writeFile(join(folder, "node_modules/.bin/npx"), shortNpx);
  await chmod(join(folder, "node_modules/.bin/npx"), 0o755);
  // A fake browser that writes down the address it should open.
  await writeFile(join(folder, "node_modules/.bin/xdg-open"), `#!/bin/sh\necho "$1" > opened\n`);
  await chmod(join(folder, "node_modules/.bin/xdg-open"), 0o755);
  await mkdir(join(folder, "src"));
  await mkdir(join(folder, "parts"));
  await writeFile(
    join(folder, "src/app.ts"),
    'import { version } from "millrace"; console.log(version);',
  );
  const rows =
    "question,answer,split,id\nWhy does it rain?,Clouds.,test,1\nWhy is it dark?,Night.,train,2\n";
  await writeFile(join(folder, "questions.csv"), rows);
  await writeFile(join(folder, "rows.csv"), rows.replaceAll(/,(?=\d)/g, ",9"));
  await writeFile(join(folder, "keys"), "key-of-the-reader\n", { mode: 0o600 });
  await writeFile(join(folder, "mapping.json"), '{ "inputs": "inputs", "outputs": "outputs" }');
  await writeFile(join(folder, "rows.jsonl.gz"), gzipSync('{"inputs":{"question":"Why?"}}\n'));
  await writeFile(join(folder, "answers.eval.ts"), await evaluationFile());
  await writeFile(join(folder, "projects.mjs"), await listing("docs/api.md"));
  await prepareDataset();
}, 240_000);

afterAll(async () => {
  await shell[Symbol.asyncDispose]();
  await server.close();
  await registry[Symbol.asyncDispose]();
});

/**
 * Does what npx does with an installed command, without the start of npm, which takes longer than most commands. That npx
 * itself finds the commands is what installed-packages.test.ts tests.
 */
const shortNpx = `#!/bin/sh
if [ -x "node_modules/.bin/$1" ]; then
  program="node_modules/.bin/$1"
  shift
  exec "$program" "$@"
fi
PATH=$(printf %s "$PATH" | tr : '\\n' | grep -v 'node_modules/.bin$' | paste -s -d :) exec npx "$@"
`;

/** The folder of installed commands comes first, as in a script of npm. */
const withInstalled = (command: string): string =>
  `PATH="$PWD/node_modules/.bin:$PATH"\n${command}`;

/** Runs a command that the tests themselves need; fails if it fails. */
async function succeed(command: string): Promise<string> {
  const { code, stdout, stderr } = await shell.run(withInstalled(command));
  expect({ command, code, stderr: code === 0 ? "" : stderr }).toEqual({
    command,
    code: 0,
    stderr: "",
  });
  return stdout;
}

/** Creates the dataset and the project for the uploads and downloads in the pages, with the tag that they use. */
async function prepareDataset(): Promise<void> {
  const client = new Client({ endpoint: server.url });
  const { id } = await client.datasets.create({ name: "questions" });
  await client.examples.createMany({
    datasetId: id,
    examples: [{ inputs: { question: "Why?" }, outputs: { answer: "So." }, split: "test" }],
  });
  await client.projects.create({ name: "support" });
  await client.close();
  const tagging = await fetch(`${server.url}/datasets/${id}/tags`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ tag: "prod", as_of: new Date().toISOString() }),
  });
  expect(tagging.status).toBe(200);
  await succeed(
    "npx millrace download --dataset questions --format parquet --output parts/1.parquet",
  );
}

/** The first program of a page, which contains no types. */
async function listing(page: string): Promise<string> {
  const text = await readFile(join(repositoryRoot, page), "utf8");
  return /^```ts\n([^]*?)^```/m.exec(text)?.[1] ?? "";
}

/** The file of docs/eval.md, with a program that gives the expected answers. */
async function evaluationFile(): Promise<string> {
  const answer = `const answer = ({ question }: { question: string }) => ({ answer: question === "Why?" ? "So." : "" });`;
  return `${answer}\n${await listing("docs/eval.md")}`;
}

/** Options that would take too long, with the options that replace them. */
const shortened: readonly (readonly [RegExp, string])[] = [
  [/--runs 100000\b/, "--runs 200"],
  [/--duration \d+\b/, "--duration 1"],
];

/** The server address in the pages, which the tests replace by their own server. */
const exampleServer = "https://traces.example.com";
const ownServer = /MILLRACE_ENDPOINT=\S+|MILLRACE_API_KEY=\S+/g;

test.for(await documentedPages())(
  "every command in %s works",
  { timeout: 240_000 },
  async (page) => {
    const faults: string[] = [];
    for (const command of await commandsOf(page)) {
      const fault = await faultOf(command);
      faults.push(...(fault === "" ? [] : [`${command.text}: ${fault}`]));
    }
    expect(faults).toEqual([]);
  },
);

/** Services on the Internet that `millrace import` reads from. `cli/tests/import-*.test.ts` run it against fakes of them. */
const publicServices = /https:\/\/(?:api\.smith\.langchain|cloud\.langfuse)\.com/;

/**
 * Servers of NATS and of PostgreSQL. `server/tests/chaos/ingest-log.test.ts` runs `millrace log` against one, and the cluster
 * test `millrace serve` and `millrace work` against both; the tests of `server/src/transfer` and of keys do what
 * `millrace move`, `backup`, `restore` and `keys` do there.
 */
const otherServers = /(?:nats|postgres):\/\//;

/** Describes what is wrong with a command; an empty text if nothing is. */
async function faultOf(command: DocumentedCommand): Promise<string> {
  const { kind, text, exports } = command;
  if (publicServices.test(text) || otherServers.test(text) || otherServers.test(exports)) {
    return faultOfHelp(text);
  }
  const runnable =
    /(?:^|\| )(?:npx )?(?:@millrace\/cli|millrace) |^esbuild |^node projects|^npm install/;
  if (runnable.test(text)) {
    return kind === "block" || isWhole(text) ? faultOfRunning(command) : faultOfHelp(text);
  }
  const faults = await Promise.all(partsOf(text).map(faultOfCloneCommand));
  return faults.filter((fault) => fault !== "").join("; ");
}

/** Whether a command within a sentence can be run: it may be only a name, or contain placeholders. */
const isWhole = (text: string): boolean =>
  /^(npx millrace \w+ .|node )/.test(text) && !/[<…]|\b[A-Z]{3,}\b/.test(text);

async function faultOfRunning({ text, exports }: DocumentedCommand): Promise<string> {
  if (text.includes("millrace serve")) {
    return faultOfServing(text);
  }
  if (text.includes("millrace eval")) {
    await provideTsx();
  }
  const localText = text.replaceAll(exampleServer, server.url);
  const command = shortened.reduce((short, [from, to]) => short.replace(from, to), localText);
  const id = text.includes("KEY_ID") ? await readKeyId() : "";
  const environment = `${exports.replaceAll(ownServer, "")}\nexport HOME=$PWD KEY_ID=${id}\n`;
  const path = `PATH="$PWD/node_modules/.bin:${repositoryRoot}/node_modules/.bin:$PATH"\n`;
  const { code, stderr } = await shell.run(`set -o pipefail\n${environment}${path}${command}`);
  return code === 0 ? "" : `ended with ${code}: ${stderr}`;
}

/** Installs the loader of TypeScript that the page about evaluation files assumes. Other pages' commands remove it. */
async function provideTsx(): Promise<void> {
  const path = join(shell.folder, "node_modules/tsx");
  await rm(path, { force: true });
  await symlink(join(repositoryRoot, "node_modules/tsx"), path);
}

const readKeyId = async (): Promise<string> => {
  const [first = ""] = (await succeed("npx millrace keys list --json")).split("\n");
  return (JSON.parse(first) as { readonly id: string }).id;
};

/** Checks that a server prints its address, responds and ends; or that another program uses the port. */
async function faultOfServing(text: string): Promise<string> {
  const path = `export HOME=$PWD; PATH="$PWD/node_modules/.bin:$PATH"`;
  const running = shell.start(`${path}; exec ${text}`);
  const [printed, url = ""] = await running.waitFor(/listens on (\S+)|port 1984 is .*in use.*/);
  if (!printed.startsWith("listens")) {
    await running.ended;
    return "";
  }
  const { status } = await fetch(`${url}/info`);
  const openedAddress = (): Promise<string> =>
    readFile(join(shell.folder, "opened"), "utf8").catch(() => "nothing");
  if (text.includes("--open")) {
    await expect.poll(openedAddress).toBe(`${url}\n`);
  }
  running.kill("SIGTERM");
  await running.ended;
  return status === 200 ? "" : `answers /info with ${status}`;
}

/** Checks a command that a sentence only mentions: it and its options must exist. */
async function faultOfHelp(text: string): Promise<string> {
  const [words = ""] = /(?<=millrace )[a-z][a-z -]*?(?= [-<]|$)/.exec(text) ?? [];
  const { code, stdout, stderr } = await shell.run(withInstalled(`npx millrace ${words} --help`));
  const unknown = (text.match(/--[a-z-]+/g) ?? []).filter((option) => !stdout.includes(option));
  return code === 0 ? unknown.join(", ") : stderr;
}
