import type { FastifyInstance, FastifyRequest } from "fastify";
import { uiEndpoints } from "millrace/model";
import { Type } from "typebox";
import type { Static } from "typebox";
import { route } from "../http/route.ts";
import { messageOf, RequestError } from "../model/errors.ts";
import { toKeyVariable } from "../model/model-endpoint.ts";
import { ingestRun } from "../runs/handlers/ingest-handlers.ts";
import type { IngestDependencies } from "../runs/handlers/ingest-handlers.ts";
import { AnswerStream } from "./answer-stream.ts";
import type { ModelAccess } from "./model-access.ts";
import { findProvider } from "./model-caller.ts";
import type { ModelCaller, PricedAnswer } from "./model-caller.ts";
import type { KeyHolder, ModelKeys } from "./model-keys.ts";
import { modelRequestSchema } from "./model-request.ts";
import { createPlaygroundRuns } from "./playground-runs.ts";

/** The header that identifies the session of a browser tab, whose keys are used. */
const sessionHeader = "x-model-session";
const sessionPattern = /^[\w-]{16,100}$/;

const maxKeyChars = 4_096;
const keyBody = Type.Object({ key: Type.String({ minLength: 1, maxLength: maxKeyChars }) });

/** Limits for the variables of a call. Their values are limited by the size of the request. */
const variableLimits = { count: 1_000, nameChars: 200 } as const;

const callBody = Type.Object({
  endpoint: Type.String({ minLength: 1, maxLength: 100 }),
  request: modelRequestSchema,
  /** Whether the call is stored as a run. */
  record: Type.Boolean(),
  /** The prompt or the run that was opened in the playground. It becomes metadata of the run. */
  source: Type.Optional(
    Type.Object({
      prompt: Type.Optional(Type.String({ maxLength: 500 })),
      run: Type.Optional(Type.String({ maxLength: 100 })),
      /** The values of the variables that the messages were filled in with. */
      variables: Type.Optional(
        Type.Record(Type.String({ maxLength: variableLimits.nameChars }), Type.Unknown(), {
          maxProperties: variableLimits.count,
        }),
      ),
    }),
  ),
});
type CallBody = Static<typeof callBody>;

/** What the routes that call models depend on. */
export interface ModelRouteDependencies extends IngestDependencies {
  readonly caller: ModelCaller;
  readonly access: ModelAccess;
  readonly keys: ModelKeys;
}

const apiTag = "server";

/** Adds the routes with which the playground calls models. */
export function addModelRoutes(app: FastifyInstance, dependencies: ModelRouteDependencies): void {
  const { access, keys } = dependencies;
  const streams = new Set<AnswerStream>();
  // The server waits for open connections when it closes. These would stay open until the models have answered.
  app.addHook("preClose", async () => streams.forEach((stream) => stream.cancel()));
  app.route({
    ...route(uiEndpoints.listModelEndpoints, {
      tag: apiTag,
      summary: "Lists the model endpoints of the operator, and what the tenant's calls cost today.",
    }),
    handler: (request) => listEndpoints(dependencies, request),
  });
  app.route<{ Body: Static<typeof keyBody> }>({
    ...route(uiEndpoints.setModelKey, {
      tag: apiTag,
      summary: "Keeps a key for an endpoint in memory, for this session.",
      body: keyBody,
    }),
    handler: async (request) => {
      await access.check(request.headers);
      const holder = readHolder(dependencies, request);
      keys.set(holder, readKey(request.body.key));
      return { expires_at: toTime(keys.findExpiry(holder)) };
    },
  });
  app.route({
    ...route(uiEndpoints.deleteModelKey, {
      tag: apiTag,
      summary: "Forgets the key that this session entered for an endpoint.",
    }),
    handler: async (request) => {
      await access.check(request.headers);
      keys.delete(readHolder(dependencies, request));
      return {};
    },
  });
  app.route<{ Body: CallBody }>({
    ...route(uiEndpoints.callModel, {
      tag: apiTag,
      summary: "Calls a model, and streams its answer as server-sent events.",
      body: callBody,
    }),
    handler: async (request, reply) => {
      await access.check(request.headers);
      const stream = new AnswerStream(reply);
      streams.add(stream);
      try {
        await streamAnswer(dependencies, request, stream);
      } finally {
        streams.delete(stream);
        stream.end();
      }
      return reply;
    },
  });
}

/**
 * `GET /ui/models`. Needs no token, because the response contains whether the UI must ask the user for one.
 * Returns no key and no path of an address.
 */
async function listEndpoints(
  { caller, access, keys }: ModelRouteDependencies,
  { tenantId, headers }: FastifyRequest,
): Promise<unknown> {
  const session = readSession(headers);
  const spending = await caller.readSpending(tenantId);
  return {
    needs_token: await access.needsToken(headers),
    budget: caller.budget ?? null,
    spent_today: spending.dollars,
    endpoints: caller.endpoints.map(({ name, protocol, url, apiKey, allowsPrivateAddress }) => {
      const expiresMs =
        session === undefined
          ? undefined
          : keys.findExpiry({ tenantId, session, endpointName: name });
      return {
        name,
        protocol,
        host: new URL(url).host,
        is_private: allowsPrivateAddress,
        has_key: apiKey !== undefined,
        key_variable: toKeyVariable(name),
        session_key_expires_at: toTime(expiresMs),
      };
    }),
  };
}

/** `POST /ui/models/calls`. */
async function streamAnswer(
  dependencies: ModelRouteDependencies,
  request: FastifyRequest<{ Body: CallBody }>,
  stream: AnswerStream,
): Promise<void> {
  const { body, tenantId, headers } = request;
  const startMs = Date.now();
  const answer = await dependencies.caller.call({
    tenantId,
    endpointName: body.endpoint,
    session: readSession(headers),
    request: body.request,
    onDelta: (delta) => stream.send("delta", delta),
    signal: stream.signal,
  });
  const recorded = body.record
    ? await recordCall(dependencies, { tenantId, body, answer, startMs })
    : {};
  stream.send("end", { ...toEndJson(answer), ...recorded });
}

/** Returns the members of an answer that the page has not received as deltas. */
const toEndJson = ({ text: _text, thinking: _thinking, toolCalls: _calls, ...end }: PricedAnswer) =>
  end;

interface EndedCall {
  readonly tenantId: string;
  readonly body: CallBody;
  readonly answer: PricedAnswer;
  readonly startMs: number;
}

/**
 * Stores the call as a run. If that fails, returns the reason instead of throwing, so that the page still receives the
 * answer.
 */
async function recordCall(
  { caller, ...dependencies }: ModelRouteDependencies,
  { tenantId, body, answer, startMs }: EndedCall,
): Promise<
  { readonly runId: string; readonly traceId: string } | { readonly recordError: string }
> {
  const { endpoint: endpointName } = body;
  const provider = findProvider(caller.findEndpoint(endpointName));
  const { runId, traceId, runs } = createPlaygroundRuns({
    ...body,
    endpointName,
    provider,
    answer,
    startMs,
  });
  try {
    for (const run of runs) {
      const { rejected } = await ingestRun(
        dependencies,
        tenantId,
        Buffer.from(JSON.stringify(run)),
      );
      const [rejection] = rejected;
      if (rejection !== undefined) {
        return { recordError: rejection.reason };
      }
    }
    return { runId, traceId };
  } catch (cause) {
    return { recordError: messageOf(cause) };
  }
}

function readHolder({ caller }: ModelRouteDependencies, request: FastifyRequest): KeyHolder {
  const { name } = request.params as { readonly name: string };
  const session = readSession(request.headers);
  if (session === undefined) {
    throw new RequestError(
      422,
      `${sessionHeader} must be a random text of 16 to 100 letters, digits, "-" and "_"`,
    );
  }
  return {
    tenantId: request.tenantId,
    session,
    endpointName: caller.findEndpoint(name).name,
  };
}

function readSession(headers: FastifyRequest["headers"]): string | undefined {
  const session = headers[sessionHeader];
  return typeof session === "string" && sessionPattern.test(session) ? session : undefined;
}

function readKey(key: string): string {
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new RequestError(
      422,
      "the key must consist of printable ASCII characters, without spaces",
    );
  }
  return key;
}

const toTime = (timeMs: number | undefined): string | null =>
  timeMs === undefined ? null : new Date(timeMs).toISOString();
