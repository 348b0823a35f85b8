import { isUtf8 } from "node:buffer";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../model/errors.ts";
import { joinPieces, readPieces, isLarge } from "../bodies/read-body.ts";
import { contentTypes, describe, encodeFailure, encodeSuccess } from "./answer.ts";
import { decodeSpans } from "./decode.ts";
import type { Encoding } from "./decode.ts";
import { toBatch } from "./to-batch.ts";
import { serverLimits } from "../model/options.ts";
import type { IngestResult } from "../runs/run-record.ts";
import type { SpansTask } from "./spans-task.ts";
import { ingest, storeDecoded } from "../runs/handlers/ingest-handlers.ts";
import type { IngestDependencies } from "../runs/handlers/ingest-handlers.ts";

/** `POST /otel/v1/traces`: spans of OpenTelemetry become runs. */
export async function receiveSpans(
  dependencies: IngestDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const pieces = await readPieces(request.raw);
  const encoding = encodingOf(request, pieces[0]);
  const { result, faults } = await take(dependencies, request, { pieces, encoding });
  const reasons = [...faults, ...result.rejected.map(({ reason }) => reason)];
  if (reasons.length > 0 && result.accepted + result.duplicates === 0) {
    throw new RequestError(400, describe(reasons));
  }
  return reply
    .header("content-type", contentTypes[encoding])
    .send(encodeSuccess(encoding, reasons));
}

interface ReceivedSpans {
  readonly pieces: readonly Buffer[];
  readonly encoding: Encoding;
}

async function take(
  { store, work }: IngestDependencies,
  request: FastifyRequest,
  { pieces, encoding }: ReceivedSpans,
): Promise<{ readonly result: IngestResult; readonly faults: readonly string[] }> {
  const { tenantId } = request;
  const project = projectOf(request);
  if (isLarge(pieces, serverLimits.largeSpansBytes)) {
    const taken = await work.run<SpansTask>(tenantId, { kind: "spans", pieces, encoding, project });
    return { result: await storeDecoded(store, tenantId, taken), faults: taken.faults };
  }
  const body = joinPieces(pieces);
  const { spans, faults } = decodeSpans(body, encoding);
  const batch = toBatch(spans, { project, expectedBytes: body.length });
  return {
    result: await ingest(store, tenantId, batch),
    faults: faults.map(({ reason }) => reason),
  };
}

/**
 * Failures in the encoding of the request. 429 and 503 tell senders to come again; a body that can't
 * be read is 400, after which they do not.
 */
export function answerSpanFailure(
  cause: FastifyError | RequestError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const isRefusal = cause instanceof RequestError;
  const given = isRefusal ? cause.status : (cause.statusCode ?? 500);
  const status = given === 422 ? 400 : given;
  if (isRefusal && cause.retryAfterSeconds !== undefined) {
    void reply.header("retry-after", cause.retryAfterSeconds);
  }
  if (status >= 500 && !isRefusal) {
    process.emitWarning(cause);
  }
  const encoding = encodingOf(request);
  return reply
    .code(status)
    .header("content-type", contentTypes[encoding])
    .send(encodeFailure(encoding, status, cause.message));
}

const openBrace = 0x7b;

/** From the content type. Where it names neither encoding, a body that begins with a brace is read as JSON. */
function encodingOf({ headers }: FastifyRequest, body?: Buffer): Encoding {
  const type = headers["content-type"]?.toLowerCase() ?? "";
  if (type.includes("json")) {
    return "json";
  }
  return type.includes("protobuf") || (body !== undefined && body[0] !== openBrace)
    ? "protobuf"
    : "json";
}

/** Headers arrive as Latin-1; names beyond it were sent as UTF-8. */
function projectOf({ headers }: FastifyRequest): string | undefined {
  const value = headers["langsmith-project"];
  if (typeof value !== "string" || value === "") {
    return undefined;
  }
  const bytes = Buffer.from(value, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : value;
}
