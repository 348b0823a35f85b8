import type { ExchangeBytes, ExchangeRun } from "../../main/index.ts";

/** The body of a request, as far as it can be recorded. */
export interface RequestBody {
  /** The body, if it can be read without waiting. */
  readonly body?: ExchangeBytes | undefined;
  readonly contentType?: string | undefined;
  /** Reads the body, if it is available only asynchronously. Reading does not consume the request. */
  readonly read?: (() => Promise<ExchangeBytes>) | undefined;
  /** Why the body is not recorded. */
  readonly warning?: string | undefined;
}

/** Maximum size of a body that is read in the background, in bytes. A larger one is not recorded. */
const maxReadBytes = 16_777_216;

/** Finds the body of a request without consuming or changing it. */
export function findRequestBody(input: unknown, init: RequestInit | undefined): RequestBody {
  const body: unknown = init?.body;
  if (body === undefined || body === null) {
    return input instanceof Request && init?.body !== null ? readRequest(input) : {};
  }
  if (typeof body === "string" || ArrayBuffer.isView(body) || body instanceof ArrayBuffer) {
    return { body };
  }
  if (body instanceof URLSearchParams) {
    return { body: body.toString(), contentType: "application/x-www-form-urlencoded" };
  }
  if (body instanceof FormData) {
    return { body: JSON.stringify(describeForm(body)), contentType: "application/json" };
  }
  if (body instanceof Blob) {
    return body.size > maxReadBytes
      ? { warning: `The request's body of ${body.size} bytes was too large to be recorded` }
      : { read: () => body.arrayBuffer(), contentType: body.type };
  }
  return { warning: "The request's body is a stream, so it was not recorded" };
}

/** Adds the body to a run as soon as it is known. */
export function addBodyLater(exchange: ExchangeRun, { read, contentType }: RequestBody): void {
  read?.().then(
    (body) => exchange.addRequest(body, contentType),
    () => exchange.addWarning("The request's body could not be read"),
  );
}

/**
 * Converts a form to an object. A file is represented by its name, type and size, because its content is binary data.
 */
function describeForm(form: FormData): Readonly<Record<string, unknown>> {
  const fields: Record<string, unknown> = {};
  for (const key of new Set(form.keys())) {
    const values = form
      .getAll(key)
      .map((value) =>
        typeof value === "string"
          ? value
          : { filename: value.name, content_type: value.type, size: value.size },
      );
    fields[key] = values.length === 1 ? values[0] : values;
  }
  return fields;
}

/** Reads the body of a `Request` from a copy, before the request itself is sent. */
function readRequest(request: Request): RequestBody {
  if (request.body === null || request.bodyUsed || request.body.locked) {
    return {};
  }
  const length = Number(request.headers.get("content-length") ?? 0);
  if (length > maxReadBytes) {
    return { warning: `The request's body of ${length} bytes was too large to be recorded` };
  }
  const copy = request.clone();
  return {
    read: () => readLimited(copy),
    contentType: request.headers.get("content-type") ?? undefined,
  };
}

/**
 * Reads at most {@link maxReadBytes} of a request's copy, and then cancels it: a copy that is not read would keep the
 * whole body in memory.
 */
async function readLimited({ body }: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let totalBytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    totalBytes += chunk.length;
    if (totalBytes > maxReadBytes) {
      // This also cancels the copy.
      throw new RangeError("The body is too large");
    }
  }
  return Buffer.concat(chunks);
}
