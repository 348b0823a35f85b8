import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll } from "vitest";
import { Client } from "../../src/main/index.ts";

/** A client, and how many requests its server has received. */
export interface CountedRequests {
  readonly client: Client;
  readonly requests: number;
}

/** Gives the calling file a client of a server that counts requests and responds to each with an empty object. */
export function useCountedRequests(): CountedRequests {
  let requests = 0;
  let client: Client | undefined;
  const server = createServer((_request, response) => {
    requests += 1;
    response.end("{}");
  });
  beforeAll(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    client = new Client({ endpoint: `http://127.0.0.1:${port}`, enabled: false });
  });
  afterAll(async () => {
    await client?.close();
    server.close();
  });
  return {
    get client() {
      if (client === undefined) {
        throw new ReferenceError("the client exists only while tests run");
      }
      return client;
    },
    get requests() {
      return requests;
    },
  };
}
