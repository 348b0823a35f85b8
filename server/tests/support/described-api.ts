import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { CallResult, CallInit } from "./running-server.ts";

type Schema = Readonly<Record<string, unknown>>;
type Contents = Readonly<Record<string, { readonly schema: Schema }>>;

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly required?: boolean; readonly content: Contents };
  readonly responses: Readonly<Record<string, { readonly content?: Contents }>>;
}

/** The members of /openapi.json that the checks need. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** An operation of the document, and where it is. */
interface Route extends Operation {
  readonly method: string;
  readonly path: string;
  readonly pattern: RegExp;
}

/** Operations whose method usually has a body, and which have none. */
const bodyless: ReadonlySet<string> = new Set(["shareRun", "shareDataset"]);

/** Checks requests and responses against the schemas of /openapi.json. */
export class DescribedApi {
  readonly #ajv = new Ajv2020({ strictTypes: false, allErrors: true, allowUnionTypes: true });
  readonly #routes: readonly Route[];
  readonly #seen = new Set<string>();

  constructor(document: ApiDocument) {
    formats.default(this.#ajv);
    this.#ajv.addFormat("binary", true);
    this.#ajv.addVocabulary(["openapi", "info", "tags", "components", "paths", "security"]);
    this.#ajv.addSchema({ ...document, $id: "sent" });
    this.#ajv.addSchema({ ...close(document), $id: "received" });
    this.#routes = Object.entries(document.paths)
      .flatMap(([path, operations]) =>
        Object.entries(operations).map(([method, operation]) => ({
          ...operation,
          method: method.toUpperCase(),
          path,
          pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
        })),
      )
      // `/datasets/comparative` before `/datasets/{id}`.
      .toSorted((a, b) => Number(a.path.includes("{")) - Number(b.path.includes("{")));
  }

  /** What differs from the description. Operations that it does not contain may do anything. */
  check(target: string, { body, headers = {} }: CallInit, answer: CallResult): readonly string[] {
    const [method = "", url = ""] = target.split(" ");
    const path = url.split("?")[0] ?? "";
    const route = this.#routes.find((one) => one.method === method && one.pattern.test(path));
    if (route === undefined) {
      return [];
    }
    const faults = [
      ...this.#checkAnswer(route, answer),
      ...(isAccepted(answer) ? this.#checkBody(route, body, headers["content-type"]) : []),
    ];
    return faults.map((fault) => `${target} (${answer.status}): ${fault}`);
  }

  /** What the document describes: each response other than errors, and each content type of a body. */
  get described(): readonly string[] {
    return this.#routes.flatMap(({ operationId, responses, requestBody }) => [
      ...Object.entries(responses)
        .filter(([status]) => status !== "default")
        .flatMap(([status, { content }]) =>
          Object.keys(content ?? { nothing: {} }).map((type) => `${operationId} ${status} ${type}`),
        ),
      ...Object.keys(requestBody?.content ?? {}).map((type) => `${operationId} body ${type}`),
    ]);
  }

  /** What of {@link described} a checked request or response had. */
  get seen(): ReadonlySet<string> {
    return this.#seen;
  }

  /** Operations without a schema for a body that their method has, for their response, or for their errors. */
  get undescribed(): readonly string[] {
    return this.#routes.flatMap(({ operationId, method, responses, requestBody }) => {
      const successes = Object.keys(responses).filter((status) => status.startsWith("2"));
      const hasContent = successes.every(
        (status) => status === "204" || isComplete(responses[status]?.content),
      );
      const needsBody = ["POST", "PATCH", "PUT"].includes(method) && !bodyless.has(operationId);
      return [
        ...(successes.length > 0 && hasContent ? [] : [`${operationId}: response`]),
        ...(isComplete(responses["default"]?.content) ? [] : [`${operationId}: errors`]),
        ...(!needsBody || isComplete(requestBody?.content) ? [] : [`${operationId}: body`]),
      ];
    });
  }

  #checkAnswer(
    { operationId, method, path, responses }: Route,
    { status, headers, text }: CallResult,
  ): readonly string[] {
    const key = responses[status] === undefined ? "default" : String(status);
    const content = responses[key]?.content;
    if (key === "default" && status < 400) {
      return [`status ${status} is not described`];
    }
    if (content === undefined) {
      this.#seen.add(`${operationId} ${key} nothing`);
      return text === "" ? [] : [`a body is not described: ${text.slice(0, 80)}`];
    }
    const sentType = headers.get("content-type")?.split(";")[0] ?? "";
    const type = [sentType, "*/*"].find((one) => content[one] !== undefined);
    if (type === undefined) {
      return [`content type ${sentType} is not described`];
    }
    this.#seen.add(`${operationId} ${key} ${type}`);
    const pointer = pointerOf("paths", path, method.toLowerCase(), "responses", key, "content");
    return documentsIn(type, text).flatMap((value) => {
      const schemaType = type === "text/event-stream" ? "application/json" : type;
      return this.#validate(`received${pointer}/${escape(schemaType)}/schema`, value);
    });
  }

  #checkBody(
    { operationId, method, path, requestBody }: Route,
    body: unknown,
    contentType: string | undefined,
  ): readonly string[] {
    if (body === undefined) {
      return requestBody?.required === true ? ["the body is described as required"] : [];
    }
    const type = typeOfBody(body, contentType);
    if (requestBody?.content[type] === undefined) {
      return [`a body of type ${type} is not described`];
    }
    this.#seen.add(`${operationId} body ${type}`);
    const pointer = pointerOf("paths", path, method.toLowerCase(), "requestBody", "content");
    return type === "application/json"
      ? this.#validate(`sent${pointer}/${escape(type)}/schema`, body)
      : [];
  }

  #validate(ref: string, value: unknown): readonly string[] {
    const validate = this.#ajv.getSchema(ref);
    if (validate === undefined) {
      return [`${ref} is no schema`];
    }
    return validate(value) === true
      ? []
      : (validate.errors ?? []).map(
          ({ instancePath, message, params }) =>
            `${instancePath} ${message} ${JSON.stringify(params)}`,
        );
  }
}

/** Whether all of the request's body was valid. A batch is stored even if some of its runs are not. */
const isAccepted = ({ status, json }: CallResult): boolean =>
  status < 300 && (json?.["rejected"]?.["length"] ?? 0) === 0;

/** Whether each content type has a schema that accepts only some values. */
const isComplete = (content: Contents | undefined): boolean =>
  content !== undefined &&
  Object.values(content).length > 0 &&
  Object.values(content).every(({ schema }) => Object.keys(schema).length > 0);

/** The text of a body as values of its schema; the document that a stream of JSON patches builds. */
function documentsIn(type: string, text: string): readonly unknown[] {
  switch (type) {
    case "application/json":
      return [JSON.parse(text)];
    case "text/event-stream":
      return [applyPatches(text)];
    default:
      return [text];
  }
}

/** Builds the page of a stream. */
function applyPatches(text: string): unknown {
  const items: unknown[] = [];
  let page: unknown;
  for (const line of text.split("\n")) {
    const json = /^data: (\[.*\])$/.exec(line)?.[1];
    const patches = JSON.parse(json ?? "[]") as readonly { path: string; value: object }[];
    for (const { path, value } of patches) {
      if (path === "") {
        page = { ...value, items };
      } else {
        items.push(value);
      }
    }
  }
  return page;
}

function typeOfBody(body: unknown, contentType: string | undefined): string {
  if (body instanceof FormData) {
    return "multipart/form-data";
  }
  return contentType?.split(";")[0] ?? "application/json";
}

/** A copy in which an object with named members has no others. */
function close<Value>(value: Value): Value {
  if (Array.isArray(value)) {
    return value.map(close) as Value;
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const copy = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, close(member)]),
  );
  const isClosed = copy["type"] === "object" && typeof copy["properties"] === "object";
  return (isClosed ? { ...copy, additionalProperties: false } : copy) as Value;
}

const escape = (segment: string): string =>
  encodeURIComponent(segment.replaceAll("~", "~0").replaceAll("/", "~1"));

const pointerOf = (...segments: readonly string[]): string => `#/${segments.map(escape).join("/")}`;
