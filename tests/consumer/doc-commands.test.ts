import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
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

/** A folder as the pages assume it: the packages, a server that the variables name, the files. */
beforeAll(async () => {
  registry = await startLocalRegistry();
  server = await startServer({ port: 0, dataDir: ":memory:" });
  shell = await openShell({
    ...registry.environment,
    MILLRACE_ENDPOINT: server.url,
  });
  const { folder } = shell;
  await succeed("npm install millrace @millrace/cli");
  // A browser that only notes what it is to open.
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
  await writeFile(join(folder, "projects.mjs"), await listing("docs/api.md"));
  await prepareDataset();
}, 240_000);

afterAll(async () => {
  await shell[Symbol.asyncDispose]();
  await server.close();
  await registry[Symbol.asyncDispose]();
});

/** Runs what the tests need themselves. */
async function succeed(command: string): Promise<string> {
  const { code, stdout, stderr } = await shell.run(command);
  expect({ command, code, stderr: code === 0 ? "" : stderr }).toEqual({
    command,
    code: 0,
    stderr: "",
  });
  return stdout;
}

/** The dataset that the pages upload to and download from, with the tag that they name. */
async function prepareDataset(): Promise<void> {
  const client = new Client({ endpoint: server.url });
  const { id } = await client.datasets.create({ name: "questions" });
  await client.examples.createMany({
    datasetId: id,
    examples: [{ inputs: { question: "Why?" }, outputs: { answer: "So." }, split: "test" }],
  });
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

/** The first program of a page, without its types. */
async function listing(page: string): Promise<string> {
  const text = await readFile(join(repositoryRoot, page), "utf8");
  return /^```ts\n([^]*?)^```/m.exec(text)?.[1] ?? "";
}

/** Commands that would take too long as they stand, and what is run in their place. */
const shortened: readonly (readonly [RegExp, string])[] = [
  [/--runs 100000\b/, "--runs 200"],
  [/--duration \d+\b/, "--duration 1"],
];

/** Lines that name a server of the reader's own; the tests have one of theirs. */
const exampleServer = "https://traces.example.com";
const ownServer = /MILLRACE_ENDPOINT=\S+|MILLRACE_API_KEY=\S+/g;

test.for(await documentedPages())(
  "every command of %s does what it says",
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

/** What is wrong with a command; nothing when all is well. */
async function faultOf(command: DocumentedCommand): Promise<string> {
  const { kind, text } = command;
  const own =
    /(?:^|\| )(?:npx )?(?:@millrace\/cli|millrace) |^esbuild |^node projects|^npm install/;
  if (own.test(text)) {
    return kind === "block" || isWhole(text) ? faultOfRunning(command) : faultOfHelp(text);
  }
  const faults = await Promise.all(partsOf(text).map(faultOfCloneCommand));
  return faults.filter((fault) => fault !== "").join("; ");
}

/** A command within a sentence may be a name only, or have places to fill in. */
const isWhole = (text: string): boolean =>
  /^(npx millrace \w+ .|node )/.test(text) && !/[<…]|\b[A-Z]{3,}\b/.test(text);

async function faultOfRunning({ text, exports }: DocumentedCommand): Promise<string> {
  if (text.includes("millrace serve")) {
    return faultOfServing(text);
  }
  const here = text.replaceAll(exampleServer, server.url);
  const command = shortened.reduce((short, [from, to]) => short.replace(from, to), here);
  const id = text.includes("KEY_ID") ? await readKeyId() : "";
  const environment = `${exports.replaceAll(ownServer, "")}\nexport HOME=$PWD KEY_ID=${id}\n`;
  const path = `PATH="$PWD/node_modules/.bin:${repositoryRoot}/node_modules/.bin:$PATH"\n`;
  const { code, stderr } = await shell.run(`set -o pipefail\n${environment}${path}${command}`);
  return code === 0 ? "" : `ended with ${code}: ${stderr}`;
}

const readKeyId = async (): Promise<string> => {
  const [first = ""] = (await succeed("npx millrace keys list --json")).split("\n");
  return (JSON.parse(first) as { readonly id: string }).id;
};

/** It prints where it listens, answers there and ends; or another program has the port that it wants. */
async function faultOfServing(text: string): Promise<string> {
  const path = `export HOME=$PWD; PATH="$PWD/node_modules/.bin:$PATH"`;
  const running = shell.start(`${path}; exec ${text}`);
  const [printed, url = ""] = await running.waitFor(/listens on (\S+)|port 1984 is .*in use.*/);
  if (!printed.startsWith("listens")) {
    await running.ended;
    return "";
  }
  const { status } = await fetch(`${url}/info`);
  const opened = (): Promise<string> =>
    readFile(join(shell.folder, "opened"), "utf8").catch(() => "nothing");
  if (text.includes("--open")) {
    await expect.poll(opened).toBe(`${url}\n`);
  }
  running.kill("SIGTERM");
  await running.ended;
  return status === 200 ? "" : `answers /info with ${status}`;
}

/** A command that a sentence only names: it exists, and has the options that are named. */
async function faultOfHelp(text: string): Promise<string> {
  const [words = ""] = /(?<=millrace )[a-z][a-z -]*?(?= [-<]|$)/.exec(text) ?? [];
  const { code, stdout, stderr } = await shell.run(`npx millrace ${words} --help`);
  const unknown = (text.match(/--[a-z-]+/g) ?? []).filter((option) => !stdout.includes(option));
  return code === 0 ? unknown.join(", ") : stderr;
}
