import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { runProgram } from "../support/run-program.ts";
import { scriptedServer } from "../support/scripted-server.ts";

test("a program that used blocking calls ends naturally without closing anything", async () => {
  const { endpoint } = await scriptedServer();
  const result = await runProgram(
    `const client = new Client();
    console.log(client.sync.projects.list({ projectName: "p" })[0].name);
    try { client.sync.projects.list({ projectName: "slow-60000", timeoutMs: 50 }); }
    catch (error) { console.log(error.code); }`,
    { env: { MILLRACE_ENDPOINT: endpoint } },
  );
  expect(result).toMatchObject({ code: 0, output: "p\nTIMEOUT\n" });
  expect(result.durationMs).toBeLessThan(10_000);
});

test("blocking calls work in a line given to node, as they do in a REPL", async () => {
  const { endpoint } = await scriptedServer();
  const line = `const { Client } = await import("millrace");
    console.log(new Client().sync.projects.has({ projectName: "p" }));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "-e", line],
    { timeout: 10_000, env: { PATH: process.env["PATH"], MILLRACE_ENDPOINT: endpoint } },
  );
  expect(stdout).toBe("true\n");
});

test("a REPL has the calls at hand", async () => {
  const { endpoint } = await scriptedServer();
  const running = promisify(execFile)(process.execPath, ["-i"], {
    timeout: 10_000,
    env: { PATH: process.env["PATH"], MILLRACE_ENDPOINT: endpoint, NO_COLOR: "1" },
  });
  const line = `new (await import("millrace")).Client().sync.projects.list({ projectName: "typed" })[0].name`;
  running.child.stdin?.end(`${line}\n`);
  expect((await running).stdout).toContain("'typed'");
});

test("a program that never makes a blocking call starts no thread for it", async () => {
  const { endpoint } = await scriptedServer();
  const result = await runProgram(
    `import { createHook } from "node:async_hooks";
    import { hasSubscribers } from "node:diagnostics_channel";
    const kinds = [];
    createHook({ init: (_id, kind) => kinds.push(kind) }).enable();
    const client = new Client();
    console.log(await client.projects.has({ projectName: "p" }));
    const isWatching = () => hasSubscribers("http.server.request.start");
    console.log(kinds.includes("WORKER"), isWatching());
    client.sync.projects.has({ projectName: "p" });
    console.log(kinds.includes("WORKER"), isWatching());`,
    { env: { MILLRACE_ENDPOINT: endpoint } },
  );
  expect(result).toMatchObject({ code: 0, output: "true\nfalse false\ntrue true\n" });
});

test.each(["NODE_OPTIONS", "argument"] as const)(
  "a preload given by %s does not run in the worker",
  async (by) => {
    const { endpoint } = await scriptedServer();
    // Does not use the console, because its output may be lost when a thread ends.
    const source = `(await import("node:fs")).writeSync(1, "preload\\n");`;
    const result = await runProgram(
      `console.log(new Client().sync.projects.has({ projectName: "p" }));`,
      {
        env: { MILLRACE_ENDPOINT: endpoint },
        preload: { source, by },
      },
    );
    expect(result).toMatchObject({ code: 0, output: "preload\ntrue\n" });
  },
);

test("blocking calls work in a worker thread of the program", async () => {
  const { endpoint } = await scriptedServer();
  const result = await runProgram(
    `import { Worker, isMainThread } from "node:worker_threads";
    import { fileURLToPath } from "node:url";
    if (isMainThread) {
      new Worker(fileURLToPath(import.meta.url));
    } else {
      console.log(new Client().sync.projects.has({ projectName: "p" }));
    }`,
    { env: { MILLRACE_ENDPOINT: endpoint } },
  );
  expect(result).toMatchObject({ code: 0, output: "true\n" });
});

test("an error that nobody catches shows the line of the program", async () => {
  const { endpoint } = await scriptedServer();
  const result = await runProgram(
    `function configure(client) {
      return client.sync.projects.read({ projectName: "status-403" });
    }
    configure(new Client());`,
    { env: { MILLRACE_ENDPOINT: endpoint } },
  );
  expect(result.code).toBe(1);
  expect(result.output).toContain("HttpError: Failed to list projects: 403 no status-403");
  expect(result.output).toMatch(
    /called by client\.sync\.projects\.read, from\n +at configure .*program\.mjs:3/,
  );
});

test("runs are delivered while blocking calls are made", async () => {
  const { endpoint } = await scriptedServer();
  const result = await runProgram(
    `const client = new Client({ firstDelayMs: 0 });
    client.startRun({ name: "r", inputs: {} }).end();
    for (let call = 0; call < 20; call++) client.sync.projects.has({ projectName: "p" });
    await client.close();
    console.log(client.stats().accepted, client.stats().pending);`,
    { env: { MILLRACE_ENDPOINT: endpoint } },
  );
  expect(result).toMatchObject({ code: 0, output: "2 0\n" });
});

test.each([
  ["at once", "(request, response) => answer(response)", 0],
  [
    "when it has read the body",
    "(request, response) => request.resume().on('end', () => answer(response))",
    1,
  ],
])(
  "a process whose first use is in a handler, %s, warns by the second request",
  async (_title, handler, quiet) => {
    const { endpoint } = await scriptedServer();
    const result = await runProgram(
      `import { createServer } from "node:http";
    const client = new Client();
    const answer = (response) => response.end(String(client.sync.projects.has({ projectName: "p" })));
    const server = createServer(${handler}).listen(0, async () => {
      const address = "http://127.0.0.1:" + server.address().port;
      for (let request = 0; request < 3; request++) {
        console.log(await (await fetch(address, { method: "POST", body: "b" })).text());
      }
      server.close();
      server.closeAllConnections();
    });`,
      { env: { MILLRACE_ENDPOINT: endpoint } },
    );
    const lines = result.output.trim().split("\n");
    expect(lines[quiet]).toMatch(
      /^\[millrace\] client\.sync\.projects\.has was called while handling/,
    );
    expect(lines.toSpliced(quiet, 1)).toEqual(["true", "true", "true"]);
  },
);
