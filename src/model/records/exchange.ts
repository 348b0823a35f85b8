/**
 * The formats of calls of a remote API that can be recorded as an exchange: request and response as raw bytes, whose
 * meaning a worker finds out. `otel.span` has a plain value (a span) in place of bytes.
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

/** One of {@link exchangeFormats}. */
export type ExchangeFormat = (typeof exchangeFormats)[number];

/** The run types of calls that are not of type `llm`, where their request does not say more. */
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
  /** `call`: both in one, as a plain value, of a call that is recorded when it has ended. */
  readonly part: "request" | "response" | "call";
  /** Host and path of the request, without its query and credentials. */
  readonly url?: string;
  /** Status of the response; absent if there was no response. */
  readonly status?: number;
  /** Content type of the body, as the header has it. */
  readonly contentType?: string;
  /** Present for responses. */
  readonly ending?: ExchangeEnding;
  /** Number of bytes that are missing in `body`, because it was too large. */
  readonly omittedBytes: number;
  /** Offset in `body` at which the omitted bytes were; present if there are any. */
  readonly omittedAt?: number;
  readonly body: Uint8Array;
  /** A plain value in place of a body. */
  readonly value?: unknown;
}

/** A {@link RawExchange}, with what the recording thread noticed and decided. */
export interface RecordedExchange extends RawExchange {
  /** The request is recorded again at the run's end, because its settings belong to the metadata of the end too. */
  readonly isRepeated?: boolean;
  /** The body is not recorded: an option hides it, or a request is not known yet. */
  readonly isWithheld?: boolean;
  /** What the exchange says must not become metadata, because an option hides metadata. */
  readonly hidesMetadata?: boolean;
  /** What could not be recorded. */
  readonly warnings?: readonly string[];
}

/** The fields of a run that an exchange means: plain JSON values. */
export interface ExchangeFields {
  readonly name?: string;
  readonly runType?: string;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly outputs?: Readonly<Record<string, unknown>>;
  readonly error?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Members of the run's `extra` beside its metadata. */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly events?: readonly Readonly<Record<string, unknown>>[];
  readonly tags?: readonly string[];
  /**
   * Whether the body of a response contains the sign of its API that nothing follows, such as `[DONE]`. Then a program that
   * stops reading has not left the stream early.
   */
  readonly isComplete?: boolean;
}

/** Returns what the exchanges of one record, the start or the end of a run, mean. Never throws. */
export type ReadExchanges = (exchanges: readonly RecordedExchange[]) => ExchangeFields;

/** The metadata key of the list of texts that say what was not understood of an exchange. */
export const exchangeWarningsKey = "millrace_exchange_warnings";
