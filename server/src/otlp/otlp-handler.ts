import { isUtf8 } from "node:buffer";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../model/errors.ts";
import { joinChunks, readBodyChunks, isLarge } from "../bodies/read-body.ts";
import { contentTypes, describeRejections, encodeFailure, encodeSuccess } from "./otlp-response.ts";
import { decodeSpans } from "./decode.ts";
import type { Encoding } from "./decode.ts";
import { toBatch } from "./to-batch.ts";
import { serverLimits } from "../model/options.ts";
import type { IngestResult } from "../runs/run-record.ts";
import type { SpansTask } from "./spans-task.ts";
import { ingest, ingestDecoded } from "../runs/handlers/ingest-handlers.ts";
import type { IngestDependencies } from "../runs/handlers/ingest-handlers.ts";

/** `POST /otel/v1/traces`: stores OpenTelemetry spans as runs. */
export async function receiveSpans(
  dependencies: IngestDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  checkContentType(request);
  const chunks = await readBodyChunks(request.raw);
  const encoding = determineEncoding(request, chunks[0]);
  const { result, spanErrorMessages } = await ingestSpans(dependencies, request, {
    chunks,
    encoding,
  });
  const reasons = [...spanErrorMessages, ...result.rejected.map(({ reason }) => reason)];
  if (reasons.length > 0 && result.accepted + result.duplicates === 0) {
    throw new RequestError(400, describeRejections(reasons));
  }
  return reply
    .header("content-type", contentTypes[encoding])
    .send(encodeSuccess(encoding, reasons));
}

interface ReceivedSpans {
  readonly chunks: readonly Buffer[];
  readonly encoding: Encoding;
}

async function ingestSpans(
  { store, workThreads }: IngestDependencies,
  request: FastifyRequest,
  { chunks, encoding }: ReceivedSpans,
): Promise<{ readonly result: IngestResult; readonly spanErrorMessages: readonly string[] }> {
  const { tenantId } = request;
  const project = readProject(request);
  if (isLarge(chunks, serverLimits.largeSpansBytes)) {
    const decoded = await workThreads.run<SpansTask>(tenantId, {
      kind: "spans",
      chunks,
      encoding,
      project,
    });
    return {
      result: await ingestDecoded(store, tenantId, decoded),
      spanErrorMessages: decoded.spanErrorMessages,
    };
  }
  const body = joinChunks(chunks);
  const { spans, spanErrors } = decodeSpans(body, encoding);
  const batch = toBatch(spans, { project, expectedBytes: body.length });
  return {
    result: await ingest(store, tenantId, batch),
    spanErrorMessages: spanErrors.map(({ reason }) => reason),
  };
}

/**
 * Sends an error in the encoding of the request. Clients send the spans again after the statuses 429 and 503, but not
 * after 400, which is therefore the status for a body that can't be read.
 */
export function sendSpanError(
  cause: FastifyError | RequestError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const isRequestError = cause instanceof RequestError;
  const errorStatus = isRequestError ? cause.status : (cause.statusCode ?? 500);
  const status = errorStatus === 422 ? 400 : errorStatus;
  if (isRequestError && cause.retryAfterSeconds !== undefined) {
    void reply.header("retry-after", cause.retryAfterSeconds);
  }
  if (status >= 500 && !isRequestError) {
    process.emitWarning(cause);
  }
  const encoding = determineEncoding(request);
  return reply
    .code(status)
    .header("content-type", contentTypes[encoding])
    .send(encodeFailure(encoding, status, cause.message));
}

const openBrace = 0x7b;

/** Maximum number of characters of a content type in a message. */
const maxTypeChars = 100;

/**
 * Refuses content types of other formats, because their bodies could only be reported as broken protobuf. A request
 * without a content type, or with `application/octet-stream`, is accepted: its encoding is detected from its body.
 *
 * @throws RequestError 415
 */
function checkContentType({ headers }: FastifyRequest): void {
  const type = headers["content-type"] ?? "";
  const [mediaType = ""] = type.toLowerCase().split(";");
  if (!/json|protobuf|^\s*(?:application\/octet-stream\s*)?$/.test(mediaType)) {
    throw new RequestError(
      415,
      `unknown content type ${JSON.stringify(type.slice(0, maxTypeChars))}: send spans as ${contentTypes.protobuf} or ${contentTypes.json}`,
    );
  }
}

/**
 * Determines the encoding from the content type. If the content type names neither encoding, a body that begins with
 * a brace is JSON.
 */
function determineEncoding({ headers }: FastifyRequest, body?: Buffer): Encoding {
  const type = headers["content-type"]?.toLowerCase() ?? "";
  if (type.includes("json")) {
    return "json";
  }
  return type.includes("protobuf") || (body !== undefined && body[0] !== openBrace)
    ? "protobuf"
    : "json";
}

/**
 * Reads the project from a header. Node decodes headers as Latin-1, but clients send names with other characters as
 * UTF-8.
 */
function readProject({ headers }: FastifyRequest): string | undefined {
  const value = headers["langsmith-project"];
  if (typeof value !== "string" || value === "") {
    return undefined;
  }
  const bytes = Buffer.from(value, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : value;
}
