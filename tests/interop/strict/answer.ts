import type { ServerResponse } from "node:http";

/** A response, or `"hang up"` to close the connection without one. */
export type StrictResponse =
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
    }
  | "hang up";

export const jsonResponse = (status: number, value: unknown): StrictResponse => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(value),
});

export const notFound: StrictResponse = jsonResponse(404, { detail: "Not Found" });

export function sendResponse(response: ServerResponse, answer: StrictResponse): void {
  if (answer === "hang up") {
    response.destroy();
    return;
  }
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body ?? "");
}
