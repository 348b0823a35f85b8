import type { Row } from "./check-call.ts";
import { isObject, typeProblems } from "./check-type.ts";
import { alternativesOf, platformOperationOf, itemTypeOf, shapeOf } from "./platform-facts.ts";
import { jsonOf } from "./received-request.ts";

/** The response to a row of the endpoint table. */
export interface ReceivedResponse {
  readonly row: Row;
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** Whether the request selected only some of the members. */
  readonly isPart: boolean;
}

/** The message of a router without a matching route. A missing resource has another message. */
const unrouted = /"detail":"there is no [A-Z]+ \//;

export const isRouted = ({ status, body }: ReceivedResponse): boolean =>
  status !== 404 || !unrouted.test(body.toString());

export const isYes = ({ status }: ReceivedResponse): boolean => status >= 200 && status < 300;

/** Calls whose responses are files. */
const files: ReadonlySet<string> = new Set([
  "exportDatasetOpenAi",
  "exportDatasetCsv",
  "exportDatasetJsonl",
]);

/**
 * Differences between a response and the platform's description of the call, each as `row: difference`,
 * without details of the individual response.
 */
export function responseDifferences(received: ReceivedResponse): string[] {
  const { row, status, contentType, body, isPart } = received;
  const { name, endpoint } = row;
  const facts = platformOperationOf(endpoint);
  const differs = (difference: string): string => `${name}: ${difference}`;
  if (files.has(name) && status === 200) {
    return [];
  }
  const json = contentType.startsWith("application/json") ? jsonOf(body) : undefined;
  if (json === undefined) {
    // Old clients call `.json()` on every response.
    return [differs(`${status} ${contentType} is no JSON`)];
  }
  if (status >= 400) {
    const isExplained = typeof json.value === "object" && json.value !== null;
    return isExplained && ("detail" in json.value || "error" in json.value)
      ? []
      : [differs(`${status} says no detail`)];
  }
  const expected = facts?.status ?? 200;
  const problems = typeProblems(json.value, facts?.answer ?? "any", {
    at: "answer",
    isClosed: false,
  }).filter(({ rule }) => !isPart || rule !== "member-missing");
  return [
    ...(facts === undefined || status === expected ? [] : [differs(`${status}, not ${expected}`)]),
    ...problems.map(({ rule, detail }) =>
      differs(`${rule === "member-missing" ? "lacks " : ""}${detail.replaceAll(/\[\d+\]/g, "[]")}`),
    ),
  ];
}

/**
 * Members that the platform may return and that none of the given responses contains, as `Shape.member`. Only covers
 * shapes that were returned at all.
 */
export function missingMembers(responses: readonly ReceivedResponse[]): string[] {
  const seen = new Map<string, Set<string>>();
  for (const { row, body, isPart } of responses.filter(isYes)) {
    const type = platformOperationOf(row.endpoint)?.answer;
    const json = jsonOf(body);
    if (type !== undefined && json !== undefined && !isPart) {
      collectMembers(json.value, type, seen);
    }
  }
  return [...seen].flatMap(([shape, members]) =>
    shapeOf(shape)
      .filter(({ name }) => !members.has(name))
      .map(({ name }) => `${shape}.${name}`),
  );
}

function collectMembers(value: unknown, type: string, seen: Map<string, Set<string>>): void {
  for (const alternative of alternativesOf(type)) {
    const itemType = itemTypeOf(alternative);
    if (itemType !== undefined && Array.isArray(value)) {
      value.forEach((item) => collectMembers(item, itemType, seen));
    }
    if (alternative.startsWith("@") && isObject(value)) {
      const shape = alternative.slice(1);
      const members = seen.get(shape) ?? new Set();
      seen.set(shape, members);
      for (const { name, type: memberType } of shapeOf(shape)) {
        if (name in value) {
          members.add(name);
          collectMembers(value[name], memberType, seen);
        }
      }
    }
  }
}
