import { randomUUID } from "node:crypto";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { call, textOf } from "../../../tests/support/running-server.ts";
import { startTenantProxy } from "../../../tests/support/tenant-proxy.ts";
import { listenAsEndpoint } from "./fake-endpoint.ts";
import type { ReceivedCall, Respond } from "./fake-endpoint.ts";

/** The key of the endpoint `local`. */
export const endpointKey = "sk-secret-0123456789";

/** A server that calls models, as one test sees it. */
export interface ModelScene {
  /** The server, with a tenant of the test's own. */
  readonly server: RunningServer;
  readonly endpoint: {
    readonly url: string;
    /** The requests that the endpoint has received in this test. */
    readonly calls: readonly ReceivedCall[];
    /** Responses of this test that the server did not read to their end. */
    readonly closedEarly: number;
  };
}

/**
 * One server with the endpoint `local` for the tests of the calling file: starting a server takes longer than most of them.
 * Each test that calls the returned function has a tenant of its own, and the endpoint answers as the test says.
 */
export function useModelServer(): (respond: Respond) => Promise<ModelScene> {
  const refuse: Respond = (response) => void response.writeHead(500).end();
  let current: { readonly respond: Respond; readonly calls: ReceivedCall[]; closedEarly: number };
  let endpoint: Awaited<ReturnType<typeof listenAsEndpoint>> | undefined;
  let server: RunningServer | undefined;
  beforeAll(async () => {
    endpoint = await listenAsEndpoint((response, received) => {
      const scene = current;
      scene.calls.push(received);
      response.once("close", () => {
        scene.closedEarly += response.writableEnded ? 0 : 1;
      });
      scene.respond(response, received);
    });
    server = await startServer({
      port: 0,
      dataDir: ":memory:",
      modelEndpoints: [{ name: "local", url: endpoint.url, apiKey: endpointKey }],
    });
  });
  afterAll(async () => {
    endpoint?.close();
    await server?.close();
  });
  return async (respond) => {
    if (server === undefined || endpoint === undefined) {
      throw new Error("the server is started before the tests: call this function in a test");
    }
    const scene = { respond, calls: [], closedEarly: 0 };
    current = scene;
    const handle = `t${randomUUID()}`;
    const { json } = await call(server, "POST /ui/tenants", { body: { handle } });
    const proxy = await startTenantProxy(server.url, ["x-tenant-id", textOf(json["id"])]);
    onTestFinished(async () => {
      current = { respond: refuse, calls: [], closedEarly: 0 };
      await proxy.close();
    });
    return {
      server: { ...proxy, modelToken: server.modelToken },
      endpoint: {
        url: endpoint.url,
        calls: scene.calls,
        get closedEarly() {
          return scene.closedEarly;
        },
      },
    };
  };
}
