import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { uiEndpoints } from "millrace/model";
import { parseId } from "../http/query-string.ts";
import type { RequestScoped } from "../http/request-scope.ts";
import { route } from "../http/route.ts";
import type { Promised } from "../storage/promised.ts";
import { readToken } from "../storage/share-token.ts";
import type { ShareReads, ShareWrites } from "./share.ts";

const apiTag = "runs";

/** The part of the store that the routes for sharing a trace use. */
interface TraceShareStore extends RequestScoped<TraceShareStore> {
  readonly read: Promised<{ readonly shares: ShareReads }>;
  readonly write: Promised<{ readonly shares: ShareWrites }>;
}

/** Adds the routes that the UI uses to show, create and delete the share of a whole trace. */
export function addUiTraceShareRoutes(app: FastifyInstance, store: TraceShareStore): void {
  app.route({
    ...route(uiEndpoints.readTraceShare, {
      tag: apiTag,
      summary: "Returns the token of the trace's public link, or null if the trace is not shared.",
    }),
    handler: async (request) => {
      const { tenantId } = request;
      const id = readTraceId(request);
      const tokens = await store.forRequest(request).read.shares.findTraceTokens(tenantId, [id]);
      return { share_token: readToken(tokens.get(id) ?? null) };
    },
  });
  app.route({
    ...route(uiEndpoints.shareTrace, {
      tag: apiTag,
      summary: "Lets anyone who has the token read the trace.",
    }),
    handler: async (request) => {
      const { write } = store.forRequest(request);
      return { share_token: await write.shares.shareTrace(request.tenantId, readTraceId(request)) };
    },
  });
  app.route({
    ...route(uiEndpoints.unshareTrace, {
      tag: apiTag,
      summary: "Stops sharing the trace: its public link no longer works.",
    }),
    handler: async (request, reply: FastifyReply) => {
      const { write } = store.forRequest(request);
      await write.shares.unshareTrace(request.tenantId, readTraceId(request));
      return reply.code(204).send();
    },
  });
}

const readTraceId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "trace id");
