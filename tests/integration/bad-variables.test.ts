import { Client, OptionError } from "millrace";
import type { ClientOptions, Logger } from "millrace";
import { afterEach, expect, test, vi } from "vitest";
import { loopbackServer } from "../support/loopback-server.ts";
import type { LoopbackServer } from "../support/loopback-server.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

interface CapturedLog {
  readonly logger: Logger;
  readonly lines: string[];
}

function captureLog(): CapturedLog {
  const lines: string[] = [];
  return { lines, logger: { warn: (message) => lines.push(message) } };
}

const sentTo = (server: LoopbackServer): string =>
  server.runRequests.map(({ body }) => body.toString("latin1")).join("");

/** Records one run with a secret in each of its parts, and closes the client. */
async function record(options: ClientOptions): Promise<Client> {
  const client = new Client(options);
  const run = client.startRun({
    name: "answer",
    inputs: { question: "hunter2" },
    metadata: { user: "hunter2" },
    tags: ["hunter2"],
  });
  run.addEvent({ name: "hunter2" });
  run.fail(new Error("hunter2"), { reply: "hunter2" });
  await client.flush();
  return client;
}

test("keeps the default, causes one warning for all clients, and does not stop tracing", async () => {
  await using server = await loopbackServer();
  vi.stubEnv("MILLRACE_BATCH_LIMIT", "abc");
  const { lines, logger } = captureLog();
  for (let i = 0; i < 2; i++) {
    const client = await record({ endpoint: server.endpoint, logger });
    expect(client.stats()).toMatchObject({ delivered: 2, warnings: { badVariable: 1 } });
    await client.close();
  }
  expect(lines).toEqual([
    '[millrace] MILLRACE_BATCH_LIMIT is "abc"; allowed: a whole number from 1 to 1000000. The default 100 is used.',
  ]);
  expect(sentTo(server).match(/"name":"answer"/g)).toHaveLength(2);
});

test.each([
  ["LANGSMITH_HIDE_INPUTS", "ja", "question"],
  ["MILLRACE_HIDE_OUTPUTS", "2", "reply"],
  ["LANGCHAIN_HIDE_METADATA", "all", "user"],
])("%s=%s withholds what it is about, and nothing else", async (variable, text, key) => {
  await using server = await loopbackServer();
  vi.stubEnv(variable, text);
  const { lines, logger } = captureLog();
  const client = await record({ endpoint: server.endpoint, logger });
  await client.close();
  const sent = sentTo(server);
  for (const each of ["question", "reply", "user"]) {
    expect(sent.includes(`"${each}":"hunter2"`)).toBe(each !== key);
  }
  expect(lines).toHaveLength(1);
});

test("of masking rules withholds everything that they would search", async () => {
  await using server = await loopbackServer();
  vi.stubEnv("MILLRACE_REDACT", "secrets,mails");
  const client = await record({ endpoint: server.endpoint, logger: captureLog().logger });
  await client.close();
  expect(sentTo(server)).not.toBe("");
  expect(sentTo(server)).not.toContain("hunter2");
  expect(client.stats()).toMatchObject({ delivered: 2 });
});

test.each([
  ["MILLRACE_ENDPOINT", "localhost:1984"],
  ["MILLRACE_CA", "/no/such/file.pem"],
  ["MILLRACE_CERT", "-----BEGIN CERTIFICATE-----"],
  ["MILLRACE_KEY", "no key"],
])("%s=%s sends nothing, says so once, and counts what was recorded", async (variable, text) => {
  await using server = await loopbackServer();
  vi.stubEnv(variable, text);
  const { lines, logger } = captureLog();
  // The option `endpoint` names the test's server, so that the test sees anything that is sent.
  const endpointOption = variable === "MILLRACE_ENDPOINT" ? {} : { endpoint: server.endpoint };
  const client = await record({ ...endpointOption, logger });
  expect(client.stats()).toMatchObject({
    accepted: 2,
    delivered: 0,
    dropped: 2,
    pending: 0,
    lost: { misconfigured: 2 },
  });
  const pendingCall = client.projects.read({ projectName: "p" });
  await expect(pendingCall).rejects.toBeInstanceOf(OptionError);
  await expect(pendingCall).rejects.toThrow(variable);
  await client.close();
  expect(server.requests).toHaveLength(0);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(`${variable} `);
  expect(lines[0]).toContain("Nothing is sent until it is corrected");
});
