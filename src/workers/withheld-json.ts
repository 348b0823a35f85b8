import type { PayloadField } from "../model/run.ts";

/** What stands in place of a payload that the server would not take, of the kind that it wants. */
export function withheldJson(name: PayloadField, bytes: number): string {
  const why = `"${bytes} bytes, with which the run is more than the server takes"`;
  switch (name) {
    case "error":
      return `"[truncated: ${why.slice(1, -1)}]"`;
    case "events":
      return `[{"name":"[truncated]","reason":${why}}]`;
    default:
      return `{"[truncated]":${why}}`;
  }
}
