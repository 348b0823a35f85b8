import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { version } from "millrace/model";
import { expect, test } from "vitest";
import { addressOf, ended, firstLine, folder, script, start } from "./support/command.ts";

test("--version prints the version and nothing else", async () => {
  expect(await ended(start(["--version"]))).toEqual({
    code: 0,
    output: `${version}\n`,
    errors: "",
  });
});

test.each(["SIGINT", "SIGTERM"] as const)(
  "serve prints one line, responds, and stops cleanly on %s",
  async (signal) => {
    const data = join(await folder(), "data");
    const child = start(["serve", "--port", "0", "--data", data]);
    const line = await firstLine(child);
    expect(line).toMatch(
      /^millrace listens on http:\/\/127\.0\.0\.1:\d+ and keeps its data in .*\n$/,
    );
    const response = await fetch(`${addressOf(line)}/info`);
    expect(response.status).toBe(200);
    await response.text();
    const end = ended(child);
    child.kill(signal);
    expect(await end).toEqual({ code: 0, output: "", errors: "" });
  },
);

test.each([
  [["--log", "http://u:hunter2@a"], {}, "--log (MILLRACE_LOG) must be the address"],
  [[], { MILLRACE_LOG: "nats://u:hunter2@a:x" }, "--log (MILLRACE_LOG) must be the address"],
  [["--log", "nats://a", "--data", ":memory:"], {}, "--log (MILLRACE_LOG) can't be used"],
  [["--log-writer", "other"], {}, "--log-writer (MILLRACE_LOG_WRITER) must be server or separate"],
  [
    ["--log", "nats://u:hunter2@a"],
    { MILLRACE_LOG_WRITER: "separate" },
    "--log-writer (MILLRACE_LOG_WRITER) can be separate only with a log and a store",
  ],
  [["--job-runner", "other"], {}, "--job-runner (MILLRACE_JOB_RUNNER) must be server or separate"],
  [
    ["--log", "nats://u:hunter2@a"],
    { MILLRACE_JOB_RUNNER: "separate" },
    "--job-runner (MILLRACE_JOB_RUNNER) can be separate only with a store",
  ],
  [
    ["--log-max-bytes", "2G"],
    {},
    "--log-max-bytes (MILLRACE_LOG_MAX_BYTES) must be a whole number",
  ],
  [["--log-max-bytes", "1"], {}, "--log-max-bytes (MILLRACE_LOG_MAX_BYTES) must be a whole number"],
] as const)(
  "serve %j refuses a bad log or place with exit code 2, and shows no password",
  async (args, env, message) => {
    const { code, errors } = await ended(start(["serve", "--port", "0", ...args], env));
    expect(code).toBe(2);
    expect(errors).toContain(message);
    expect(errors).not.toContain("hunter2");
  },
);

test("keys from the options and from the environment are all accepted", async () => {
  const args = [
    "serve",
    "--port",
    "0",
    "--data",
    join(await folder(), "d"),
    "--api-key",
    "one",
    "--api-key",
    "two",
  ];
  const child = start(args, { MILLRACE_API_KEY: "three" });
  const url = addressOf(await firstLine(child));
  const status = async (key: string): Promise<number> => {
    const response = await fetch(`${url}/sessions`, { headers: { "x-api-key": key } });
    await response.text();
    return response.status;
  };
  expect(await Promise.all(["one", "two", "three", "four"].map(status))).toEqual([
    200, 200, 200, 401,
  ]);
});

test("keys can come from a file, which a list of processes does not show; an unreadable file is reported", async () => {
  const place = await folder();
  const file = join(place, "keys");
  await writeFile(file, "# ours\nfirst\n\n  second \n");
  const data = join(place, "d");
  const child = start(["serve", "--port", "0", "--data", data, "--api-key-file", file]);
  const url = addressOf(await firstLine(child));
  const status = async (key: string): Promise<number> => {
    const response = await fetch(`${url}/sessions`, { headers: { "x-api-key": key } });
    await response.text();
    return response.status;
  };
  expect(await Promise.all(["first", "second", "# ours", "x"].map(status))).toEqual([
    200, 200, 401, 401,
  ]);
  const missing = start(["serve", "--data", data], { MILLRACE_API_KEY_FILE: join(place, "none") });
  const { code, errors } = await ended(missing);
  expect([code, errors]).toEqual([2, expect.stringContaining(`the key file ${place}`)]);
});

test("a variable replaces a missing flag, and the error for a bad value names it", async () => {
  const data = join(await folder(), "from the variable");
  const env = { MILLRACE_PORT: "0", MILLRACE_DATA_DIR: data, MILLRACE_QUERY_TIMEOUT_MS: "600000" };
  const child = start(["serve", "--host", "localhost"], { ...env, MILLRACE_HOST: "0.0.0.0" });
  const line = await firstLine(child);
  expect(line).toMatch(
    /^millrace listens on http:\/\/(?:localhost|127\.0\.0\.1):\d+ and keeps its data in /,
  );
  expect(line).toContain(data);
  expect(line).not.toContain(":1984");
  child.kill("SIGTERM");
  expect(await ended(child)).toMatchObject({ code: 0 });
  const wrong = start(["serve"], { ...env, MILLRACE_QUERY_TIMEOUT_MS: "9" });
  expect(await ended(wrong)).toMatchObject({
    code: 2,
    errors:
      "error: --query-timeout-ms (MILLRACE_QUERY_TIMEOUT_MS) must be a whole number from 10 to 600000, not 9\n",
  });
  const badHost = start(["serve", "--webhook-host", "http://hooks"], env);
  expect(await ended(badHost)).toMatchObject({
    code: 2,
    errors: expect.stringMatching(
      /^error: --webhook-host \(MILLRACE_WEBHOOK_HOSTS\) must be a host name or an address, .* not "http:\/\/hooks"/,
    ) as string,
  });
  const badHosts = start(["serve"], { ...env, MILLRACE_WEBHOOK_HOSTS: "hooks.internal, a:b" });
  expect(await ended(badHosts)).toMatchObject({
    code: 2,
    errors: expect.stringContaining('not "a:b"') as string,
  });
  const elsewhere = start(["serve"], { ...env, MILLRACE_HOST: "0.0.0.0" });
  expect(await ended(elsewhere)).toMatchObject({
    code: 2,
    errors: expect.stringContaining("--host 0.0.0.0 is reachable from other machines") as string,
  });
});

test("model endpoints are named by flags, their keys by variables, and the token is printed once", async () => {
  const args = ["serve", "--port", "0", "--data", join(await folder(), "d")];
  const endpoints = ["a=https://models.test/v1", "b-1=anthropic+http://localhost:9"];
  const flags = endpoints.flatMap((endpoint) => ["--model-endpoint", endpoint]);
  const key = "sk-secret-0123456789";
  const child = start([...args, ...flags, "--model-budget", "2.5"], {
    MILLRACE_MODEL_KEY_B_1: key,
    MILLRACE_MODEL_RATE: "7",
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await expect
    .poll(() => output, { timeout: 20_000 })
    .toMatch(/token before it calls models: [\w-]{22}\n$/);
  const response = await fetch(`${addressOf(output)}/ui/models`);
  const text = await response.text();
  expect(JSON.parse(text)).toMatchObject({
    budget: 2.5,
    needs_token: true,
    endpoints: [
      { name: "a", protocol: "openai", host: "models.test", has_key: false },
      { name: "b-1", protocol: "anthropic", host: "localhost:9", has_key: true },
    ],
  });
  expect(output + text).not.toContain(key);
});

test.each([
  [["--model-endpoint", "a"], "--model-endpoint must be a name and a URL"],
  [
    ["--model-endpoint", "a=ftp://x"],
    "the address of the model endpoint a must be an http or https URL",
  ],
  [
    ["--model-rate", "0"],
    "--model-rate (MILLRACE_MODEL_RATE) must be a whole number from 1 to 100000, not 0",
  ],
  [
    ["--model-rate", "many"],
    '--model-rate (MILLRACE_MODEL_RATE) must be a number in digits, such as 10, not "many"',
  ],
  [
    ["--tenant-max-bytes", "1e9"],
    '--tenant-max-bytes (MILLRACE_TENANT_MAX_BYTES) must be a number in digits, such as 10, not "1e9"',
  ],
  [
    ["--drain-seconds", "-1"],
    "--drain-seconds (MILLRACE_DRAIN_SECONDS) must be a whole number from 0 to ",
  ],
  [
    ["--model-budget", "-5"],
    "--model-budget (MILLRACE_MODEL_BUDGET) must be a number of US dollars above 0, up to ",
  ],
  [["--tls-cert", "x.pem"], "--tls-cert (MILLRACE_TLS_CERT) needs --tls-key: "],
  [["--tls-key", "x.pem"], "--tls-key (MILLRACE_TLS_KEY) needs --tls-cert: "],
  [
    ["--public-url", "https://t.example.com"],
    "makes the server reachable from other machines: pass --api-key-file <path> or --api-key <key>, or set MILLRACE_API_KEY; a key of millrace keys create is accepted too, but is not enough to start\n",
  ],
  [["--api-key", ""], "--api-key must be a key of printable ASCII characters"],
  [
    ["--model-budget", "0"],
    "--model-budget (MILLRACE_MODEL_BUDGET) must be a number of US dollars above 0",
  ],
])("serve %j exits with 2 and says what is allowed", async (flags, error) => {
  const { code, errors } = await ended(start(["serve", "--data", await folder(), ...flags]));
  expect([code, errors]).toEqual([2, expect.stringContaining(error)]);
});

test("--open does not fail on a machine without a browser", async () => {
  const child = start(["serve", "--port", "0", "--data", join(await folder(), "d"), "--open"], {
    PATH: "/nowhere",
  });
  const line = await firstLine(child);
  const end = ended(child);
  const response = await fetch(`${addressOf(line)}/info`);
  await response.text();
  child.kill("SIGTERM");
  expect(await end).toEqual({
    code: 0,
    output: "",
    errors: `could not open a browser; go to ${addressOf(line)}\n`,
  });
});

test.each([
  [
    ["serve", "--port", "x"],
    'error: --port (MILLRACE_PORT) must be a whole number from 0 to 65535, not "x"\n',
  ],
  [
    ["serve", "--port", "70000"],
    "error: --port (MILLRACE_PORT) must be a whole number from 0 to 65535, not 70000\n",
  ],
  [
    ["serve", "--host", "0.0.0.0"],
    "error: --host 0.0.0.0 is reachable from other machines and needs a key: pass --api-key-file <path> or --api-key <key>, or set MILLRACE_API_KEY, or listen on 127.0.0.1\n",
  ],
  [
    ["serve", "--query-timeout-ms", "5"],
    "error: --query-timeout-ms (MILLRACE_QUERY_TIMEOUT_MS) must be a whole number from 10 to 600000, not 5\n",
  ],
  [
    ["serve", "--query-timeout-ms", "1s"],
    'error: --query-timeout-ms (MILLRACE_QUERY_TIMEOUT_MS) must be a whole number of milliseconds, such as 10000, not "1s"\n',
  ],
  [["serve", "--wibble"], "error: unknown option '--wibble'\n"],
  [["wibble"], "error: unknown command 'wibble'\n"],
])("%j exits with 2 and reports why", async (args, errors) => {
  expect(await ended(start(args))).toEqual({ code: 2, output: "", errors });
});

test("a failure to start exits with 1 and reports why", async () => {
  const child = start(["serve", "--port", "0", "--data", script]);
  const { code, errors } = await ended(child);
  expect(code).toBe(1);
  expect(errors).toBe(`error: Failed to use ${script} as data folder: it is not a folder\n`);
});

test("the URL of a store is checked, and no message shows its password", async () => {
  const malformed = start(["serve", "--store", "mysql://me:hidden@db/x"]);
  expect(await ended(malformed)).toEqual({
    code: 2,
    output: "",
    errors: expect.stringMatching(
      /^error: --store \(MILLRACE_STORE_URL\) must be a URL such as postgres:\/\/user:password@host/,
    ) as string,
  });
  const unreachable = start(["serve", "--data", join(await folder(), "d"), "--port", "0"], {
    MILLRACE_STORE_URL: "postgres://me:hidden@127.0.0.1:1,127.0.0.1:2/x",
  });
  const { code, errors } = await ended(unreachable);
  expect(code).toBe(1);
  expect(errors).toContain("Failed to open the store at 127.0.0.1:1,127.0.0.1:2/x");
  expect(errors).toContain("ECONNREFUSED");
  expect(errors).not.toContain("hidden");
  const memory = start(["serve", "--data", ":memory:", "--store", "postgres://db/x"]);
  expect(await ended(memory)).toMatchObject({
    code: 2,
    errors: expect.stringContaining("must be a folder if there is a store") as string,
  });
});

test("commands for data folders refuse to work on the default folder while there is a store", async () => {
  const env = { MILLRACE_STORE_URL: "postgres://me:hidden@db/x" };
  for (const args of [
    ["backup", "b.db"],
    ["restore", "b.db"],
  ]) {
    const { code, errors } = await ended(start(args, env));
    expect(code).toBe(2);
    expect(errors).toMatch(/^error: MILLRACE_STORE_URL names a PostgreSQL database/);
    const named = await ended(start([...args, "--store", "postgres://me:hidden@db/x"]));
    expect([named.code, named.errors]).toEqual([
      2,
      expect.stringMatching(
        /^error: --store names a PostgreSQL database.* with --tenant/,
      ) as unknown,
    ]);
  }
});

test("commands that work on PostgreSQL name what they could not reach, without the password", async () => {
  const env = { MILLRACE_STORE_URL: "postgres://me:hidden@127.0.0.1:1/x" };
  for (const args of [
    ["keys", "list"],
    ["backup", "b.backup", "--tenant", "acme"],
  ]) {
    const { code, errors } = await ended(start(args, env));
    expect([code, errors]).toEqual([
      1,
      expect.stringMatching(/^error: Failed to open the store at 127\.0\.0\.1:1\/x: /) as unknown,
    ]);
    expect(errors).not.toContain("hidden");
    const malformed = await ended(start([...args, "--store", "mysql://me:hidden@db/x"]));
    expect([malformed.code, malformed.errors]).toEqual([
      2,
      expect.stringMatching(/^error: --store \(MILLRACE_STORE_URL\) must be a URL/) as unknown,
    ]);
  }
});
