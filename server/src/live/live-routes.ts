import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { reportSender, senderBody } from "./sender-handlers.ts";
import type { SenderBody } from "./sender-handlers.ts";
import type { KeyGuard } from "../tenants/key-guard.ts";
import { route } from "../http/route.ts";
import { LiveFeed } from "./live-feed.ts";
import { Senders } from "./senders.ts";
import type { Store } from "../store/store.ts";

const tag = "server";

/** What arrives, as it arrives, and what senders say of themselves. */
export function addLiveRoutes(app: FastifyInstance, store: Store, keys: KeyGuard): void {
  const senders = new Senders();
  const feed = new LiveFeed(senders);
  store.onActivity((activity) => feed.note(activity));
  // Before the server waits for its connections to end.
  app.addHook("preClose", async () => feed.close());
  app.route({
    ...route(uiEndpoints.readLive, { tag, summary: "What arrives, each second." }),
    exposeHeadRoute: false,
    handler: async ({ tenantId, headers }, reply) => {
      // A key may be revoked, and the first one made, while somebody listens.
      feed.add(tenantId, reply.raw, async () => (await keys.checkKey(headers)) === tenantId);
      reply.hijack();
    },
  });
  app.route<{ Body: SenderBody }>({
    ...route(uiEndpoints.reportSender, {
      tag,
      summary: "Takes what a sender has counted.",
      body: senderBody,
    }),
    handler: (request, reply) => reportSender(senders, request, reply),
  });
}
