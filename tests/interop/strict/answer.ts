import type { ServerResponse } from "node:http";

/** A response, or `"hang up"` to close the connection without one. */
export type StrictAnswer =
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
    }
  | "hang up";

export const jsonAnswer = (status: number, value: unknown): StrictAnswer => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(value),
});

export const missing: StrictAnswer = jsonAnswer(404, { detail: "Not Found" });

export function give(response: ServerResponse, answer: StrictAnswer): void {
  if (answer === "hang up") {
    response.destroy();
    return;
  }
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body ?? "");
}
