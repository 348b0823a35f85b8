/**
 * The formats of exchanges. An exchange is a call of a remote API, recorded as the raw bytes of its request and
 * response; a worker parses them later. An `otel.span` is recorded as a plain value (a span) instead of bytes.
 */
export const exchangeFormats = [
  "openai.chat",
  "openai.responses",
  "openai.completions",
  "openai.embeddings",
  "openai.images",
  "openai.transcription",
  "anthropic.messages",
  "google.generate",
  "google.embed",
  "otel.span",
] as const;

/** The API whose request and response an exchange contains. */
export type ExchangeFormat = (typeof exchangeFormats)[number];

/**
 * Run types of exchanges by format, unless the request determines another type. Formats that are not listed have the
 * type `llm`.
 */
export const exchangeRunTypes: Readonly<Record<string, string | undefined>> = {
  "openai.embeddings": "embedding",
  "google.embed": "embedding",
  "otel.span": "chain",
} satisfies { readonly [Format in ExchangeFormat]?: string };

/** How the reading of a response ended. */
export type ExchangeEnding =
  /** The body was received completely. */
  | "complete"
  /** The program stopped reading before the end, or never read the body. */
  | "cancelled"
  /** The request failed, or the body could not be read to its end. */
  | "failed";

/** The request or the response of one call of a remote API, as it was recorded. */
export interface RawExchange {
  /** One of {@link exchangeFormats}, or an unknown format if a newer version recorded it. */
  readonly format: string;
  /** `call` is a call that is recorded only after it ended: request and response together, as a plain value. */
  readonly part: "request" | "response" | "call";
  /** Host and path of the request, without its query and credentials. */
  readonly url?: string;
  /** Status of the response; absent if there was no response. */
  readonly status?: number;
  /** Content type of the body, as in the header `content-type`. */
  readonly contentType?: string;
  /** How the response ended; present for responses. */
  readonly ending?: ExchangeEnding;
  /** Number of bytes that are missing in `body`, because it was too large. */
  readonly omittedBytes: number;
  /** Offset in `body` at which bytes were omitted; present if any were. */
  readonly omittedAt?: number;
  readonly body: Uint8Array;
  /** A plain value in place of a body. */
  readonly value?: unknown;
}

/** A {@link RawExchange}, with additional information from the thread that recorded it. */
export interface RecordedExchange extends RawExchange {
  /**
   * Whether this request was already recorded at the run's start. It is recorded again at the run's end, because the
   * metadata of the end also contains the request's settings.
   */
  readonly isRepeated?: boolean;
  /** Whether the body is not recorded, because an option hides it or the request is not known yet. */
  readonly isWithheld?: boolean;
  /** Whether nothing from the exchange may become metadata, because an option hides metadata. */
  readonly hidesMetadata?: boolean;
  /** Descriptions of what could not be recorded. */
  readonly warnings?: readonly string[];
}

/** The fields of a run that were parsed from an exchange: plain JSON values. */
export interface ExchangeFields {
  readonly name?: string;
  readonly runType?: string;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly outputs?: Readonly<Record<string, unknown>>;
  readonly error?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Members of the run's `extra` other than its metadata. */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly events?: readonly Readonly<Record<string, unknown>>[];
  readonly tags?: readonly string[];
  /**
   * Whether the body of a response contains the API's mark for the end of a stream, such as `[DONE]`. A program that
   * stops reading after this mark has received everything.
   */
  readonly isComplete?: boolean;
}

/** Parses the exchanges of one record (the start or end of a run) into fields of the run. Never throws. */
export type ReadExchanges = (exchanges: readonly RecordedExchange[]) => ExchangeFields;

/** Metadata key for a list of texts that describe which parts of an exchange could not be parsed. */
export const exchangeWarningsKey = "millrace_exchange_warnings";
