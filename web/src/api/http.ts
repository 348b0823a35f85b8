/** The server answered, and the answer was not 2xx; or it did not answer. */
export class ApiError extends Error {
  /** 0: no answer. */
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ApiError";
    this.status = status;
  }
}

/** Longest wait for one answer. */
const timeoutMs = 30_000;

/** @throws {@link ApiError} */
export const getJson = async (path: string, signal: AbortSignal): Promise<unknown> =>
  call(path, { signal });

/** @throws {@link ApiError} */
export const postJson = async (
  path: string,
  body: unknown,
  signal: AbortSignal,
): Promise<unknown> =>
  call(path, {
    signal,
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });

async function call(path: string, init: RequestInit & { signal: AbortSignal }): Promise<unknown> {
  const signal = AbortSignal.any([init.signal, AbortSignal.timeout(timeoutMs)]);
  let response: Response;
  try {
    response = await fetch(path, { ...init, signal });
  } catch (cause) {
    throw new ApiError(0, "The server does not answer. Is it still running?", { cause });
  }
  const text = await response.text();
  if (!response.ok) {
    throw new ApiError(response.status, `${response.status}: ${readDetail(text)}`);
  }
  const value: unknown = JSON.parse(text);
  return value;
}

/** The reason that the server gave, else the beginning of what it said. */
function readDetail(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "detail" in value) {
      return typeof value.detail === "string" ? value.detail : JSON.stringify(value.detail);
    }
  } catch {
    // Not JSON: an answer of something between here and the server, shown as it is.
  }
  return text.slice(0, 300);
}
