import { setImmediate } from "node:timers/promises";
import { Client, logLevels } from "millrace";
import type { LogLevel, Logger } from "millrace";
import { afterEach, expect, test, vi } from "vitest";
import { loopbackServer } from "../support/loopback-server.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

/** The messages logged at a level for a delivered run, an invalid id, and a run recorded after the client was closed. */
async function messagesAt(level: LogLevel | undefined): Promise<readonly string[]> {
  await using server = await loopbackServer({ info: { body: '{"version":"1.2.3"}' } });
  const messages: string[] = [];
  const logger: Logger = {
    warn: (text) => messages.push(`warn ${text}`),
    error: (text) => messages.push(`error ${text}`),
    debug: (text) => messages.push(`debug ${text}`),
  };
  const client = new Client({ endpoint: server.endpoint, logger, logLevel: level });
  client.startRun({ name: "r", id: "no id" }).end();
  await client.close();
  client.startRun({ name: "late" }).end();
  await setImmediate();
  return messages.map((text) =>
    text.replace(server.endpoint, "SERVER").replace(/\d+ requests/, "N requests"),
  );
}

const lost =
  "error [millrace] Lost 2 records (closed): the client was closed, or the process ended, before they were sent";
const noUuid = "warn [millrace] An id that is not a UUID was ignored.";
const recordingTo = "warn [millrace] Recording to SERVER, project default";
const delivered = "debug [millrace] Delivered 2 records in N requests, 0 of them retries";

const expected: Readonly<Record<LogLevel, readonly string[]>> = {
  silent: [],
  error: [lost],
  warn: [noUuid, lost],
  // The logger has no `info`, so these messages go to `warn`.
  info: [recordingTo, noUuid, lost],
  debug: [recordingTo, noUuid, delivered, lost],
};

test.each(logLevels)("%s shows what its row in docs/delivery.md says", async (level) => {
  const messages = await messagesAt(level);
  expect(messages.filter((text) => !text.includes("Connected to the server"))).toEqual(
    expected[level],
  );
});

test("the variable chooses where the program does not, and warn is the default", async () => {
  expect(await messagesAt(undefined)).toEqual(expected.warn);
  vi.stubEnv("MILLRACE_LOG_LEVEL", "Error");
  expect(await messagesAt(undefined)).toEqual(expected.error);
});
