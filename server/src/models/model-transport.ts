export interface ModelHttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly tenantId: string;
  readonly signal: AbortSignal;
}

/** The beginning of the response of a model's endpoint. */
export interface ModelHttpResponse {
  readonly status: number;
  /** The content type without parameters, in lower case; empty if the response names none. */
  readonly contentType: string;
  /** How many seconds the endpoint asked to wait before it is called again. */
  readonly retryAfterSeconds: number | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Sends requests to endpoints. Rejects with an error whose message contains no key. */
export interface ModelTransport {
  send(request: ModelHttpRequest): Promise<ModelHttpResponse>;
}
