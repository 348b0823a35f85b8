import type { AnswerBuilder } from "../answer-builder.ts";
import type { JsonObject } from "../json-value.ts";
import type { ModelRequest } from "../model-request.ts";

/** How a provider's API is called, and how its answers are read. */
export interface Protocol {
  /** The headers with the key, and those that the API demands. */
  readonly createHeaders: (key: string | undefined) => Readonly<Record<string, string>>;
  /** The body of a request that streams the answer. */
  readonly createBody: (request: ModelRequest, host: string) => JsonObject;
  /** Reads one event of a stream. */
  readonly readEvent: (event: JsonObject, answer: AnswerBuilder, request: ModelRequest) => void;
  /** Reads a whole response, from an endpoint that does not stream. */
  readonly readResponse: (
    response: JsonObject,
    answer: AnswerBuilder,
    request: ModelRequest,
  ) => void;
}
