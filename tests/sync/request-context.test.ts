import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import Fastify from "fastify";
import { Client } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { scriptedServer } from "../support/scripted-server.ts";

interface Warned {
  readonly client: Client;
  readonly warnings: readonly string[];
}

async function warned(): Promise<Warned> {
  const { endpoint } = await scriptedServer();
  const warnings: string[] = [];
  const logger = { warn: (message: string) => void warnings.push(message) };
  const client = new Client({ endpoint, enabled: false, logger });
  onTestFinished(async () => void (await client.close()));
  return { client, warnings };
}

const text =
  "[millrace] client.sync.projects.has was called while handling a request: it blocks all other requests until it returns; await client.projects.has instead";

/** Runs `work` in the handler of a request to a server of this process. */
async function handling(work: () => unknown): Promise<number> {
  const server = createServer((_request, response) => {
    void Promise.resolve(work()).then(() => response.end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  server.closeAllConnections();
  server.close();
  return response.status;
}

test("a call outside of a request does not warn, with or without a server", async () => {
  const { client, warnings } = await warned();
  client.sync.projects.has({ projectName: "p" });
  await handling(() => undefined);
  client.sync.projects.has({ projectName: "p" });
  expect(warnings).toEqual([]);
});

test("the first use in a handler warns, and no later one does", async () => {
  const { client, warnings } = await warned();
  const use = (): unknown => client.sync.projects.has({ projectName: "p" });
  expect(await handling(use)).toBe(200);
  expect(warnings).toEqual([text]);
  await handling(use);
  expect(warnings).toHaveLength(1);
});

test("a use after the handler waited for something warns too", async () => {
  const { client, warnings } = await warned();
  const { sync } = client;
  await handling(async () => {
    await turn();
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
    return sync.projects.has({ projectName: "p" });
  });
  expect(warnings).toEqual([text]);
});

test("a use in a handler of Fastify warns, with its hooks and a body to read", async () => {
  const { client, warnings } = await warned();
  const { sync } = client;
  const app = Fastify();
  onTestFinished(() => app.close());
  app.addHook("preHandler", async () => turn());
  app.post("/", async () => ({ has: sync.projects.has({ projectName: "p" }) }));
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const response = await fetch(url, {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json" },
  });
  expect(await response.json()).toEqual({ has: true });
  expect(warnings).toEqual([text]);
});

test("a logger that throws does not reach the handler", async () => {
  const { endpoint } = await scriptedServer();
  const logger = {
    warn: () => {
      throw new Error("no log");
    },
  };
  const client = new Client({ endpoint, enabled: false, logger });
  onTestFinished(async () => void (await client.close()));
  expect(await handling(() => client.sync.projects.has({ projectName: "p" }))).toBe(200);
});
