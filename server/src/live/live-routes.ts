import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { reportSdkClient, sdkClientBody } from "./sdk-client-handlers.ts";
import type { SdkClientBody } from "./sdk-client-handlers.ts";
import type { KeyGuard } from "../tenants/key-guard.ts";
import { route } from "../http/route.ts";
import { LiveFeed } from "./live-feed.ts";
import { SdkClients } from "./sdk-clients.ts";
import type { Store } from "../store/store.ts";

const apiTag = "server";

/** Routes of the live feed, and of the reports that SDK clients send about themselves. */
export function addLiveRoutes(app: FastifyInstance, store: Store, keys: KeyGuard): void {
  const clients = new SdkClients();
  const feed = new LiveFeed(clients);
  store.onActivity((activity) => feed.record(activity));
  // Close the feed first: the server waits for open connections when it closes, and these never end by themselves.
  app.addHook("preClose", async () => feed.close());
  app.route({
    ...route(uiEndpoints.readLive, {
      tag: apiTag,
      summary:
        "Streams, every second, the counts of the runs that were stored, as server-sent events.",
    }),
    exposeHeadRoute: false,
    handler: async ({ tenantId, headers }, reply) => {
      // Check the key again while the client is connected: the key may be revoked, or, if the client has none, the
      // server's first key may be created.
      feed.add(
        tenantId,
        reply.raw,
        async () => (await keys.checkKey(headers, "read")) === tenantId,
      );
      reply.hijack();
    },
  });
  app.route<{ Body: SdkClientBody }>({
    ...route(uiEndpoints.reportStats, {
      tag: apiTag,
      summary:
        "Receives from an SDK client how many records it has accepted, delivered, rejected, dropped, spooled and still holds.",
      body: sdkClientBody,
    }),
    handler: (request, reply) => reportSdkClient(clients, request, reply),
  });
}
