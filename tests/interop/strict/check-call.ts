import { endpoints } from "../../../src/model/endpoints.ts";
import type { Endpoint, EndpointName } from "../../../src/model/endpoints.ts";
import { isTime, isUuid, typeProblems } from "./check-type.ts";
import type { TypeProblem } from "./check-type.ts";
import {
  alternativesOf,
  platformOperationOf,
  itemTypeOf,
  membersOf,
  shapeOf,
} from "./platform-facts.ts";
import { readMultipart } from "./read-multipart.ts";
import type { PartProblem } from "./read-multipart.ts";
import { contentTypeOf, jsonOf } from "./received-request.ts";
import type { ReceivedRequest, Violation } from "./received-request.ts";

export type CallRule =
  | TypeProblem["rule"]
  | PartProblem["rule"]
  | "content-type"
  | "json"
  | "no-body"
  | "query-unknown"
  | "query-missing"
  | "query-type";

export interface Row {
  readonly name: EndpointName;
  readonly endpoint: Endpoint;
}

const rows: readonly Row[] = Object.entries(endpoints).map(([name, endpoint]) => ({
  name: name as EndpointName,
  endpoint,
}));

const argumentsIn = (path: string): number => path.split("/:").length;

/** The row of the endpoint table for a request. If several match, the one with the most literal segments. */
export function rowOf({ method, path }: Pick<ReceivedRequest, "method" | "path">): Row | undefined {
  return rows
    .filter(
      ({ endpoint }) =>
        endpoint.method === method &&
        new RegExp(`^${endpoint.path.replaceAll(/:\w+/g, "[^/]+")}/?$`).test(path),
    )
    .toSorted((a, b) => argumentsIn(a.endpoint.path) - argumentsIn(b.endpoint.path))[0];
}

/** Query parameters that the platform's description lacks, or types more narrowly than the platform's documentation. */
const alsoInQuery: Readonly<Partial<Record<EndpointName, Readonly<Record<string, string>>>>> = {
  // The documentation says: "`as_of` reads the dataset as it was then, by time or by tag."
  exportDatasetOpenAi: { as_of: "string" },
  exportDatasetCsv: { as_of: "string" },
  exportDatasetJsonl: { as_of: "string" },
  readDatasetVersion: { as_of: "string" },
  // Specification, section 7: `GET /examples: query dataset, as_of, inline_s3_urls ...`.
  listExamples: { inline_s3_urls: "boolean" },
};

/** Members that the platform's documentation or the specification names, and the description lacks. */
const alsoInBody: ReadonlySet<string> = new Set([
  // The documentation uses the spelling of the npm client; the description has `feedback_config`.
  "FeedbackCreateSchema.feedbackConfig",
]);

/** "`<example_id>.attachment.<name>`", for which the description of the POST has `attachments`. */
const alsoInForm = /^[^.]+\.attachment\.[^.]+$/;

/** Checks an API call against the platform's description of it. */
export function checkCall(
  { endpoint, name }: Row,
  request: ReceivedRequest,
): Violation<CallRule>[] {
  const facts = platformOperationOf(endpoint);
  if (facts === undefined) {
    return jsonProblems(request);
  }
  const query = { ...facts.query, ...withOptional(alsoInQuery[name] ?? {}) };
  return [...queryProblems(request.query, query), ...bodyProblems(request, facts)];
}

const withOptional = (names: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(names).map(([name, type]) => [`${name}?`, type]));

/** Checks a call that the description lacks: its body must be JSON, or declare another type. */
function jsonProblems(request: ReceivedRequest): Violation<CallRule>[] {
  const isJson = /^application\/json\b/.test(contentTypeOf(request));
  return isJson && jsonOf(request.body) === undefined
    ? [{ rule: "json", detail: request.body.toString().slice(0, 200) }]
    : [];
}

function queryProblems(
  query: URLSearchParams,
  parameters: Readonly<Record<string, string>>,
): Violation<CallRule>[] {
  const members = membersOf(parameters);
  const names = new Set(members.map(({ name }) => name));
  return [
    ...[...new Set(query.keys())]
      .filter((name) => !names.has(name))
      .map((name) => ({ rule: "query-unknown" as const, detail: `${name}=${query.get(name)}` })),
    ...members.flatMap(({ name, type, isOptional }): Violation<CallRule>[] => {
      const values = query.getAll(name);
      if (values.length === 0) {
        return isOptional ? [] : [{ rule: "query-missing", detail: name }];
      }
      return isQuery(values, type)
        ? []
        : [{ rule: "query-type", detail: `${name}=${values.join()} is not ${type}` }];
    }),
  ];
}

const queryTypes: Readonly<Record<string, (text: string) => boolean>> = {
  string: () => true,
  uuid: isUuid,
  "date-time": isTime,
  integer: (text) => /^-?\d+$/.test(text),
  number: (text) => text !== "" && Number.isFinite(Number(text)),
  boolean: (text) => text === "true" || text === "false",
};

const isQuery = (values: readonly string[], type: string): boolean =>
  alternativesOf(type).some((one) => {
    const itemType = itemTypeOf(one);
    return itemType === undefined
      ? values.length === 1 && isQueryText(values[0] ?? "", one)
      : values.every((value) => alternativesOf(itemType).some((item) => isQueryText(value, item)));
  });

const isQueryText = (text: string, type: string): boolean =>
  type === `'${text}'` || queryTypes[type]?.(text) === true;

function bodyProblems(
  request: ReceivedRequest,
  { body: type, contentType = "application/json" }: { body?: string; contentType?: string },
): Violation<CallRule>[] {
  const { body } = request;
  if (type === undefined) {
    return body.length === 0 ? [] : [{ rule: "no-body", detail: body.toString().slice(0, 200) }];
  }
  if (!contentTypeOf(request).startsWith(contentType)) {
    return [{ rule: "content-type", detail: `${contentTypeOf(request)}, not ${contentType}` }];
  }
  if (contentType !== "application/json") {
    return formProblems(request, type);
  }
  const json = jsonOf(body);
  return json === undefined
    ? [{ rule: "json", detail: body.toString().slice(0, 200) }]
    : typeProblems(json.value, type, { at: "body", isClosed: true, alsoRight: alsoInBody });
}

/** Checks a form's parts by their names. `{...}` in a name of the description stands for any text. */
function formProblems(request: ReceivedRequest, type: string): Violation<CallRule>[] {
  const { parts, problems } = readMultipart(contentTypeOf(request), request.body);
  const shape = type.slice(1);
  const members = shapeOf(shape).map((member) => ({ ...member, pattern: patternOf(member.name) }));
  const names = parts.map(({ name }) => name);
  const unknown = names.filter(
    (name) => !alsoInForm.test(name) && !members.some(({ pattern }) => pattern.test(name)),
  );
  const missing = members.filter(
    ({ isOptional, pattern }) => !isOptional && !names.some((name) => pattern.test(name)),
  );
  return [
    ...problems,
    ...unknown.map((name) => ({ rule: "member-unknown" as const, detail: `${name} (${shape})` })),
    ...missing.map(({ name }) => ({
      rule: "member-missing" as const,
      detail: `${name} (${shape})`,
    })),
  ];
}

const patternOf = (name: string): RegExp =>
  new RegExp(`^${name.replaceAll(".", String.raw`\.`).replaceAll(/\{\w+\}/g, "[^.]+")}$`);
