import type { ReceivedResponse } from "./check-response.ts";
import type { StrictResponse } from "./answer.ts";
import type { Row } from "./check-call.ts";
import type { ReceivedRequest } from "./received-request.ts";

/** Forwards requests to another server, and collects its responses in `responses`. */
export const forwardTo =
  (upstream: string, responses: ReceivedResponse[]) =>
  async (
    row: Row,
    { method, path, query, headers, body }: ReceivedRequest,
  ): Promise<StrictResponse> => {
    const search = query.size === 0 ? "" : `?${query.toString()}`;
    const response = await fetch(upstream + path + search, {
      method,
      headers: Object.fromEntries(
        ["content-type", "x-api-key"].flatMap((name) => {
          const value = headers[name];
          return typeof value === "string" ? [[name, value]] : [];
        }),
      ),
      ...(body.length === 0 ? {} : { body: Uint8Array.from(body) }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const contentType = response.headers.get("content-type") ?? "";
    const isPart = query.has("select") || body.includes('"select":');
    responses.push({ row, status: response.status, contentType, body: bytes, isPart });
    return {
      status: response.status,
      headers: { "content-type": contentType },
      body: bytes,
    };
  };
