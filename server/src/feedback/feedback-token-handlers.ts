import { minuteMicros } from "../model/durations.ts";
import { randomUUID } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { Maybe, Time } from "../http/schema-parts.ts";
import { feedbackConfigSchema, feedbackKey, toJudgement } from "../runs/ingest/parse-feedback.ts";
import type { SubmittedFeedbackBody } from "../runs/ingest/parse-feedback.ts";
import { latestMicros, parseOptionalTime } from "../model/parse-time.ts";
import { serverLimits } from "../model/options.ts";
import type { FeedbackToken, FeedbackTokenDraft } from "./feedback.ts";
import type { Judgement } from "../runs/run-feedback.ts";
import type { FeedbackStore } from "./feedback-store.ts";
import { toTokenJson } from "./feedback-json.ts";
import { firstValue, parseCount, parseId, parseMetadata } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

const OptionalInteger = Type.Optional(Type.Integer());

const tokenRequest = Type.Object({
  run_id: Type.String(),
  feedback_key: feedbackKey,
  feedback_config: Maybe(feedbackConfigSchema),
  expires_in: Maybe(
    Type.Object({ days: OptionalInteger, hours: OptionalInteger, minutes: OptionalInteger }),
  ),
  expires_at: Maybe(Time),
});

/** Body of `POST /feedback/tokens`: one request, or a list of them. */
export const tokenBody = Type.Union([
  tokenRequest,
  Type.Array(tokenRequest, { maxItems: serverLimits.tokensMax }),
]);

export type TokenBody = Static<typeof tokenBody>;
type TokenRequest = Static<typeof tokenRequest>;

/** `POST /feedback/tokens`: creates tokens. A list of requests results in a list of tokens. */
export async function createFeedbackTokens(
  store: FeedbackStore,
  request: FastifyRequest<{ Body: TokenBody }>,
): Promise<unknown> {
  const { body, tenantId } = request;
  const now = Date.now() * 1_000;
  const drafts = [body].flat().map((tokenRequestBody) => toDraft(tokenRequestBody, now));
  const tokens = await store.write.feedback.createTokens(tenantId, drafts);
  const results = tokens.map((token) => toTokenJson(token, readOrigin(request)));
  return Array.isArray(body) ? results : results[0];
}

/** Handles `GET /feedback/tokens?run_id`. */
export async function listFeedbackTokens(
  store: FeedbackStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const runId = parseId(firstValue(query, "run_id"), "run_id");
  const maxCount = Number.MAX_SAFE_INTEGER;
  const range = {
    limit: parseCount(query, "limit", { fallback: maxCount, min: 1, max: maxCount }),
    offset: parseCount(query, "offset", { fallback: 0, max: maxCount }),
  };
  const tokens = await store.read.feedback.listTokens(request.tenantId, runId, range);
  return tokens.map((token) => toTokenJson(token, readOrigin(request)));
}

/**
 * Checks the token in the path.
 *
 * @throws RequestError 404: there is no such token. 410: it has expired.
 */
export async function checkToken(store: FeedbackStore, request: FastifyRequest): Promise<void> {
  await findToken(store, request);
}

/** `POST /feedback/tokens/{token}`: submits feedback. Needs no access key. */
export async function giveFeedback(
  store: FeedbackStore,
  request: FastifyRequest<{ Body: SubmittedFeedbackBody }>,
): Promise<unknown> {
  const { body } = request;
  return storeSubmittedFeedback(store, request, {
    fieldNames: Object.keys(body),
    judgement: toJudgement(body, undefined),
    metadata: body.metadata ?? null,
  });
}

/**
 * `GET /feedback/tokens/{token}`: submits feedback when a link is opened. A browser gets a page that confirms it. Needs
 * no access key.
 */
export async function giveFeedbackByLink(
  store: FeedbackStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const query = request.query as QueryString;
  const result = await storeSubmittedFeedback(store, request, {
    fieldNames: Object.keys(query).filter((name) => !campaignPattern.test(name)),
    judgement: {
      score: parseScore(firstValue(query, "score")),
      value: firstValue(query, "value") ?? null,
      comment: firstValue(query, "comment") ?? null,
      correction: firstValue(query, "correction") ?? null,
      config: null,
    },
    metadata: parseMetadata(query) ?? null,
  });
  void reply.header("vary", "accept");
  if (request.headers.accept?.includes("text/html") !== true) {
    return result;
  }
  return reply.type("text/html; charset=utf-8").headers(confirmationHeaders).send(confirmationPage);
}

/**
 * Matches the parameters that mailing services, search engines and social networks add to every link, even to one that
 * submits feedback.
 */
const campaignPattern = /^(?:utm_\w*|[a-z]+clid|mc_[ce]id|_hs\w*|mkt_tok)$/;

/**
 * A page of its own, not the page of the UI: it needs no script, so that it also appears where the UI was not built,
 * and in the browsers of mail programs, which may forbid scripts.
 */
const confirmationPage = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Feedback</title>
</head>
<body>
<h1>Thank you</h1>
<p>Your feedback was received.</p>
</body>
</html>
`;

const confirmationHeaders = {
  "content-security-policy":
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
} as const;

const judgementNames = ["score", "value", "comment", "correction"] as const;
const submittedNames: readonly string[] = [...judgementNames, "metadata"];

/** What a request with a token contains. */
interface SubmittedFeedback {
  /** Names of all fields of the request, including unknown ones. */
  readonly fieldNames: readonly string[];
  readonly judgement: Judgement;
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

/**
 * Checks that a request contains feedback, and nothing that would be lost. Programs that preview a link fetch it as it
 * is; they must not store an empty judgement.
 *
 * @throws RequestError 422: the request has an unknown field, or none of those that make up a judgement.
 */
function checkSubmittedFeedback({ fieldNames, judgement }: SubmittedFeedback): void {
  const unknownName = fieldNames.find((name) => !submittedNames.includes(name));
  if (unknownName !== undefined) {
    throw new RequestError(
      422,
      `unknown field ${JSON.stringify(unknownName.slice(0, 64))}; known: ${submittedNames.join(", ")}`,
    );
  }
  // A link such as ?score=&comment= has fields, but nobody filled them in.
  if (judgementNames.every((name) => judgement[name] === null || judgement[name] === "")) {
    throw new RequestError(422, `feedback needs at least one of ${judgementNames.join(", ")}`);
  }
}

async function storeSubmittedFeedback(
  store: FeedbackStore,
  request: FastifyRequest,
  feedback: SubmittedFeedback,
): Promise<unknown> {
  const { tenantId, runId, key, config } = await findToken(store, request);
  checkSubmittedFeedback(feedback);
  const { id } = await store.write.feedback.create(tenantId, {
    ...feedback.judgement,
    config,
    id: randomUUID(),
    runId,
    projectId: null,
    comparativeId: null,
    key,
    sourceType: "api",
    sourceMetadata: feedback.metadata,
    extra: null,
    createdMicros: null,
  });
  return { id };
}

async function findToken(store: FeedbackStore, request: FastifyRequest): Promise<FeedbackToken> {
  const { token } = request.params as { readonly token: string };
  const feedbackToken = await store.read.feedback.findToken(token);
  if (feedbackToken === undefined) {
    throw new RequestError(404, "Feedback token not found");
  }
  if (feedbackToken.expiresMicros <= Date.now() * 1_000) {
    throw new RequestError(
      410,
      "The feedback token has expired: ask the sender of the link for a new one",
    );
  }
  return feedbackToken;
}

function toDraft(request: TokenRequest, now: number): FeedbackTokenDraft {
  const expiresMicros = computeExpiry(request, now);
  if (expiresMicros <= now) {
    throw new RequestError(422, "the expiry must be in the future");
  }
  if (expiresMicros > latestMicros) {
    throw new RequestError(422, "the expiry must be before 2255-06-05");
  }
  return {
    runId: parseId(request.run_id, "run_id"),
    key: request.feedback_key,
    config: request.feedback_config ?? null,
    expiresMicros,
  };
}

function computeExpiry(
  { expires_at: expiresAt, expires_in: duration }: TokenRequest,
  now: number,
): number {
  const hasExpiryTime = expiresAt !== undefined && expiresAt !== null;
  if (hasExpiryTime && duration !== undefined && duration !== null) {
    throw new RequestError(422, "Only one of expires_at or expires_in can be provided");
  }
  if (hasExpiryTime) {
    return parseOptionalTime(expiresAt, "expires_at") ?? now;
  }
  // Three hours is the default of the LangSmith API.
  const { days = 0, hours = 0, minutes = 0 } = duration ?? { hours: 3 };
  return now + ((days * 24 + hours) * 60 + minutes) * minuteMicros;
}

function parseScore(text: string | undefined): Judgement["score"] {
  if (text === undefined || text === "") {
    return null;
  }
  if (text === "true" || text === "false") {
    return text === "true";
  }
  const score = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(score)) {
    throw new RequestError(
      422,
      `score must be a number, true or false, not ${JSON.stringify(text.slice(0, 64))}`,
    );
  }
  return score;
}

/** Returns the base URL that the client used to reach this server. */
const readOrigin = ({ baseUrl }: FastifyRequest): string => baseUrl;
