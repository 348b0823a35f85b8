import { Client, NetworkError, TimeoutError } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { findFreePort } from "../support/free-port.ts";
import { scriptedServer } from "../support/scripted-server.ts";

function clientOf(endpoint: string): Client {
  const client = new Client({ endpoint, enabled: false });
  onTestFinished(async () => void (await client.close()));
  return client;
}

/** Returns the error of a call that must fail. */
function errorOf(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}

test("a timeout names the last failure, and says that nothing was executed if no attempt was sent", async () => {
  const port = await findFreePort();
  const { sync } = clientOf(`http://127.0.0.1:${port}`);
  const error = errorOf(() => sync.projects.list({ timeoutMs: 3_000 }));
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error.message).toMatch(
    new RegExp(
      `no response within 3000 ms; the server has not executed the request\\. The last attempt failed: .*connect ECONNREFUSED 127\\.0\\.0\\.1:${port}$`,
    ),
  );
  expect(error.cause).toBeInstanceOf(NetworkError);
  expect(error.cause).toMatchObject({ cause: { code: "ECONNREFUSED" } });
});

test("a timeout while the server has the request names no failure", async () => {
  const { endpoint } = await scriptedServer();
  const { sync } = clientOf(endpoint);
  sync.projects.has({ projectName: "first" });
  const error = errorOf(() => sync.projects.list({ projectName: "slow-20000", timeoutMs: 100 }));
  expect(error.message).toMatch(/within 100 ms; the server may have executed the request$/);
  expect(error.cause).toBeUndefined();
});
