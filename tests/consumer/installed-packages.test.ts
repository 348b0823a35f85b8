import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { satisfies } from "semver";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repositoryRoot } from "./installed.ts";
import { startLocalRegistry } from "./local-registry.ts";
import type { LocalRegistry } from "./local-registry.ts";
import { openShell } from "./shell.ts";
import type { Ended, Shell } from "./shell.ts";

/** The Node version that `npm run test:packages` tests. */
const nodeVersion = process.env["MILLRACE_TEST_NODE_VERSION"] ?? process.version;

let registry: LocalRegistry;

beforeAll(async () => {
  registry = await startLocalRegistry();
});

afterAll(() => registry[Symbol.asyncDispose]());

/** Opens a shell in an empty folder, with our packages in its npm registry. */
const emptyFolder = (): Promise<Shell> => openShell(registry.environment);

/** The result of a command that succeeded without warnings. */
const quietly = (stdout: unknown): Ended => ({
  code: 0,
  signal: null,
  stdout: stdout as string,
  stderr: "",
});

test("the SDK alone takes at most 8 MB, dependencies included", async () => {
  await using shell = await emptyFolder();
  expect(await shell.run("npm install --silent millrace")).toMatchObject({ code: 0, stderr: "" });
  const { stdout } = await shell.run("du -s --block-size=1M node_modules");
  expect(Number.parseInt(stdout, 10)).toBeGreaterThan(1);
  expect(Number.parseInt(stdout, 10)).toBeLessThanOrEqual(8);
});

describe("with SDK, server and command installed in an empty folder", () => {
  let shell: Shell;
  let installing: Ended;

  beforeAll(async () => {
    shell = await emptyFolder();
    const names = "millrace @millrace/server @millrace/cli";
    installing = await shell.run(`npm install --engine-strict ${names}`);
  }, 180_000);

  afterAll(() => shell[Symbol.asyncDispose]());

  test("npm refuses nothing, and warns of nothing but SQLite's install script", async () => {
    const { code, stdout, stderr } = installing;
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining("added ") as unknown,
    });
    // That script builds from source if no binary is included; our packages never need it.
    const notice = /^npm warn install-scripts.*\n/gm;
    expect(stderr.replaceAll(notice, "")).toBe("");
    const named = stderr.match(/(?<=install-scripts {3})@?[^@\s]+/g) ?? [];
    expect(named.filter((name) => name !== "@photostructure/sqlite")).toEqual([]);
    expect(await shell.run("node --version")).toEqual(quietly(`${nodeVersion}\n`));
  });

  test("no package that a consumer installs requires a newer Node than the minimum", async () => {
    const { packages } = JSON.parse(
      await readFile(join(shell.folder, "package-lock.json"), "utf8"),
    ) as { readonly packages: Readonly<Record<string, { engines?: { node?: string } }>> };
    const refusing = Object.entries(packages).filter(
      ([, { engines }]) => !satisfies("20.19.0", engines?.node ?? "*"),
    );
    expect(Object.keys(packages).length).toBeGreaterThan(10);
    expect(refusing).toEqual([]);
  });

  test("npx millrace --version prints the version", async () => {
    expect(await shell.run("npx millrace --version")).toEqual(quietly(`${registry.version}\n`));
  });

  test("npx millrace serve answers with API, UI and documentation, and ends on SIGTERM", async () => {
    const serving = shell.start("exec npx millrace serve --port 0 --data served");
    const [url] = await serving.waitFor(/http:\/\/127\.0\.0\.1:\d+/);
    const info = (await (await fetch(`${url}/info`)).json()) as { readonly version: string };
    expect(info.version).toMatch(/^\d+\.\d+\.\d+/);
    const accept = { headers: { accept: "text/html" } };
    expect(await (await fetch(url, accept)).text()).toContain('<div id="root">');
    const documentation = await (await fetch(`${url}/docs`, accept)).text();
    const files = [...documentation.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file);
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) {
      expect([file, (await fetch(`${url}${file}`)).status]).toEqual([file, 200]);
    }
    serving.kill("SIGTERM");
    expect((await serving.ended).stderr).toBe("");
    // npx ends by the signal itself, and the server that it started must end too.
    await expect(fetch(`${url}/info`)).rejects.toThrow("fetch failed");
  });

  test("runs that a program records are stored by a server that it starts, and read back", async () => {
    await writeFile(
      join(shell.folder, "program.mjs"),
      `import { startServer } from "@millrace/server";
       import { Client, traceable } from "millrace";
       const server = await startServer({ port: 0, dataDir: ":memory:" });
       const client = new Client({ endpoint: server.url, projectName: "p" });
       await traceable(async (question) => question, { name: "answer", client })("why?");
       const { delivered, lost } = await client.flush();
       const runs = await client.runs.list({ projectNames: ["p"] }).toArray();
       await client.close();
       await server.close();
       console.log(JSON.stringify([lost, runs.length, runs[0].name]));`,
    );
    expect(await shell.run("node program.mjs")).toEqual(quietly('[0,1,"answer"]\n'));
  });

  test("a CommonJS program requires the SDK without a warning, and gets the same module as an import", async () => {
    await writeFile(
      join(shell.folder, "program.cjs"),
      `const required = require("millrace");
       import("millrace").then((imported) => {
         console.log(required.version, required.Client === imported.Client);
       });`,
    );
    expect(await shell.run("node program.cjs")).toEqual(quietly(`${registry.version} true\n`));
  });

  test("the command millrace works whichever of the two packages npm links", async () => {
    for (const bin of ["millrace/bin/millrace.mjs", "@millrace/cli/bin/millrace.mjs"]) {
      const result = await shell.run(`node node_modules/${bin} --version`);
      expect(result).toEqual(quietly(`${registry.version}\n`));
    }
  });
});

/** Every command that our code tells users to run. */
async function printedHints(): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const folder of ["src", "server/src", "cli/src", "langsmith/src", "web/src"]) {
    const entries = await readdir(join(repositoryRoot, folder), {
      recursive: true,
      withFileTypes: true,
    });
    const sources = entries.filter(({ name }) => /\.(ts|tsx|mjs)$/.test(name));
    for (const { parentPath, name } of sources) {
      const text = await readFile(join(parentPath, name), "utf8");
      const hints = text.matchAll(/npx millrace [a-z]+|npm (?:i|install) [@\w/-][@\w/ -]*\w/g);
      [...hints].forEach(([hint]) => found.add(hint));
    }
  }
  return [...found];
}

describe("with the SDK alone", () => {
  test("each printed command works, if necessary after installing the package that it names", async () => {
    await using shell = await emptyFolder();
    const hints = await printedHints();
    const installs = hints.filter((hint) => hint.startsWith("npm"));
    const commands = hints.filter((hint) => hint.startsWith("npx"));
    expect(installs).toContain("npm install millrace");
    expect(commands).toContain("npx millrace serve");
    for (const install of installs) {
      expect([install, (await shell.run(`${install} --engine-strict`)).code]).toEqual([install, 0]);
    }
    const notThere = /^error: the command millrace is in the package @millrace\/cli, which is not/;
    for (const command of commands) {
      expect(await shell.run(command)).toEqual({
        ...quietly(""),
        code: 1,
        stderr: expect.stringMatching(notThere) as unknown,
      });
    }
    const { stderr } = await shell.run("npx millrace serve");
    const [install] = /npm install .*/.exec(stderr) ?? [];
    expect((await shell.run(`${install} --engine-strict`)).code).toBe(0);
    expect(await shell.run("npx millrace --version")).toEqual(quietly(`${registry.version}\n`));
    for (const command of commands) {
      expect([command, (await shell.run(`${command} --help`)).code]).toEqual([command, 0]);
    }
  }, 240_000);

  test("the command works in either order of installing the two packages", async () => {
    for (const [first, second] of [
      ["millrace", "@millrace/cli"],
      ["@millrace/cli", "millrace"],
    ]) {
      await using shell = await emptyFolder();
      expect((await shell.run(`npm install ${first}`)).code).toBe(0);
      expect((await shell.run(`npm install ${second}`)).code).toBe(0);
      expect(await shell.run("npx millrace --version")).toEqual(quietly(`${registry.version}\n`));
    }
  }, 240_000);
});

describe("with @millrace/langsmith in place of langsmith", () => {
  const program = {
    "program.mjs": `import { Client } from "langsmith";
      import { traceable } from "langsmith/traceable";
      import { Client as MillraceClient } from "millrace";
      console.log(await traceable(async (n) => n * 2)(21), new Client().millrace instanceof MillraceClient);`,
    "program.cjs": `const { Client, RunTree } = require("langsmith");
      const { traceable } = require("langsmith/traceable");
      import("langsmith").then((imported) => console.log(traceable.length, imported.RunTree === RunTree, Client === imported.Client));`,
  };

  test("programs import and require it by the alias, without a warning", async () => {
    await using shell = await emptyFolder();
    const install = "npm install --engine-strict langsmith@npm:@millrace/langsmith millrace";
    expect((await shell.run(install)).code).toBe(0);
    for (const [name, text] of Object.entries(program)) {
      await writeFile(join(shell.folder, name), text);
    }
    expect(await shell.run("node program.mjs")).toEqual(quietly("42 true\n"));
    expect(await shell.run("node program.cjs")).toEqual(quietly("2 true true\n"));
  }, 120_000);

  test("an override puts it in the place of LangChain's own langsmith", async () => {
    await using shell = await emptyFolder();
    const manifest = {
      dependencies: { "@langchain/core": "1.2.13", langsmith: "npm:@millrace/langsmith" },
      overrides: { langsmith: "$langsmith" },
    };
    await writeFile(join(shell.folder, "package.json"), JSON.stringify(manifest));
    expect((await shell.run("npm install --engine-strict")).code).toBe(0);
    await writeFile(
      join(shell.folder, "program.mjs"),
      `import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
       import { Client as MillraceClient } from "millrace";
       console.log(new LangChainTracer().client.millrace instanceof MillraceClient);`,
    );
    expect(await shell.run("node program.mjs")).toEqual(quietly("true\n"));
    const { stdout } = await shell.run("find . -type d -name langsmith");
    expect(stdout.trim().split("\n")).toHaveLength(1);
  }, 120_000);
});
