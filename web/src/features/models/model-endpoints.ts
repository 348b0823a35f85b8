import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { callJson } from "../../api/http.ts";
import { createModelHeaders } from "../../api/model-session.ts";
import { requireItems, requireText, toNumber, toRecord, toText } from "../../api/parse.ts";

/** A model endpoint that the operator of the server has configured. */
export interface ModelEndpoint {
  readonly name: string;
  readonly protocol: string;
  readonly host: string;
  /** Whether the operator has set a key. */
  readonly hasKey: boolean;
  /**
   * Whether the operator allows the host to have a private address. Models at private addresses usually need no key.
   */
  readonly isPrivate: boolean;
  /** The name of the environment variable with which the operator sets the key. */
  readonly keyVariable: string;
  /** When the server deletes the key that was entered in this tab; `undefined` if none was entered. */
  readonly sessionKeyExpiresMs: number | undefined;
}

export interface ModelEndpoints {
  readonly endpoints: readonly ModelEndpoint[];
  /** Whether the user must enter the token that the server printed when it started. */
  readonly needsToken: boolean;
  /** The maximum cost of all calls of a day, in US dollars; `undefined` if there is no maximum. */
  readonly budget: number | undefined;
  readonly spentToday: number;
}

export const modelEndpointsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: async ({ signal }): Promise<ModelEndpoints> =>
    parseEndpoints(
      await callJson(toEndpointPath("/ui/models"), {
        method: "GET",
        headers: createModelHeaders(),
        signal,
      }),
    ),
});

function parseEndpoints(value: unknown): ModelEndpoints {
  const { endpoints, needs_token, budget, spent_today } = toRecord(value);
  return {
    endpoints: requireItems(endpoints, "model endpoints").map((item) => {
      const endpoint = toRecord(item);
      const expiry = toText(endpoint["session_key_expires_at"]);
      return {
        name: requireText(endpoint, "name"),
        protocol: requireText(endpoint, "protocol"),
        host: requireText(endpoint, "host"),
        keyVariable: requireText(endpoint, "key_variable"),
        hasKey: endpoint["has_key"] === true,
        isPrivate: endpoint["is_private"] === true,
        sessionKeyExpiresMs: expiry === undefined ? undefined : Date.parse(expiry),
      };
    }),
    needsToken: needs_token === true,
    budget: toNumber(budget),
    spentToday: toNumber(spent_today) ?? 0,
  };
}
