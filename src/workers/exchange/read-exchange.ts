import { gunzipSync } from "node:zlib";
import type { ExchangeFields, RawExchange } from "../../model/records/exchange.ts";
import { exchangeWarningsKey } from "../../model/records/exchange.ts";
import { readAnthropicMessages } from "./formats/anthropic-messages.ts";
import type { ExchangeReader } from "./parsing/exchange-reader.ts";
import { readGoogleEmbed } from "./formats/google-embed.ts";
import { readGoogleGenerate } from "./formats/google-generate.ts";
import { readOpenAiChat } from "./formats/openai-chat.ts";
import { readOpenAiCompletions } from "./formats/openai-completions.ts";
import { readOpenAiEmbeddings } from "./formats/openai-embeddings.ts";
import { readOpenAiImages } from "./formats/openai-images.ts";
import { readOpenAiResponses } from "./formats/openai-responses.ts";
import { readOpenAiTranscription } from "./formats/openai-transcription.ts";
import { readSpan } from "../spans/read-span.ts";

/** The readers by format. A format without a reader keeps its raw text. */
const readers: Readonly<Record<string, ExchangeReader | undefined>> = {
  "openai.chat": readOpenAiChat,
  "openai.responses": readOpenAiResponses,
  "openai.completions": readOpenAiCompletions,
  "openai.embeddings": readOpenAiEmbeddings,
  "openai.images": readOpenAiImages,
  "openai.transcription": readOpenAiTranscription,
  "anthropic.messages": readAnthropicMessages,
  "google.generate": readGoogleGenerate,
  "google.embed": readGoogleEmbed,
  "otel.span": readSpan,
};

/** Maximum size in bytes of a decompressed body. */
const maxDecompressedBytes = 67_108_864;

/**
 * Reads the fields of a run from a request or a response. Never throws: what could not be read is described in the
 * metadata `millrace_exchange_warnings`, and the raw text becomes the payload.
 */
export function readExchange(exchange: RawExchange): ExchangeFields {
  const reader = Object.hasOwn(readers, exchange.format) ? readers[exchange.format] : undefined;
  const decompressed = decompressBody(exchange);
  if (reader === undefined) {
    return readRawText(decompressed, `The format "${exchange.format}" is not known`);
  }
  try {
    return reader(decompressed);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return readRawText(decompressed, `The ${exchange.part} could not be read: ${reason}`);
  }
}

/** Returns the text of the body as the payload of a run, for a format that has no reader or whose reader failed. */
function readRawText(exchange: RawExchange, warning: string): ExchangeFields {
  const { body, part, value } = exchange;
  const payload = value === undefined ? { body: decodeText(body) } : { value };
  return {
    ...(part === "request" ? { inputs: payload } : { outputs: payload }),
    metadata: { [exchangeWarningsKey]: [warning] },
  };
}

const decodeText = (body: Uint8Array): string =>
  Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");

/** Decompresses a body in gzip's format, which a caller's own `fetch` may have left compressed. */
function decompressBody(exchange: RawExchange): RawExchange {
  const { body, omittedBytes } = exchange;
  if (body[0] !== 0x1f || body[1] !== 0x8b || omittedBytes > 0) {
    return exchange;
  }
  try {
    return { ...exchange, body: gunzipSync(body, { maxOutputLength: maxDecompressedBytes }) };
  } catch {
    // The body is incomplete, or is not in gzip's format. The reader reports that the body can't be read.
    return exchange;
  }
}
