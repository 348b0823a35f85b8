import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import Ajv from "ajv";
import addFormats from "ajv-formats";
import { expect, onTestFinished } from "vitest";

/** A request as a route of a fake gets it. */
export interface FakeRequest {
  readonly query: URLSearchParams;
  readonly body: unknown;
  /** The texts that the groups of the route's path matched, decoded. */
  readonly params: readonly string[];
  /** The address of the fake. */
  readonly url: string;
}

/** A call of an API: its method, path and what it responds. */
export interface FakeRoute {
  /** The operation in the fixture, whose schema the response must match. Absent for files. */
  readonly operation?: string;
  readonly method: "GET" | "POST";
  readonly path: RegExp;
  /** Returns the JSON of the response, bytes of a file, or `undefined` for 404. */
  readonly respond: (request: FakeRequest) => unknown;
}

export interface FakeApi {
  readonly url: string;
  readonly requests: readonly {
    readonly target: string;
    readonly headers: IncomingHttpHeaders;
  }[];
  /** Is called before each response; what it returns is sent instead. */
  intercept: ((target: string) => InterceptedResponse | undefined) | undefined;
}

export interface InterceptedResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface FakeApiInit {
  readonly routes: readonly FakeRoute[];
  /** The file with the published schemas of the responses. */
  readonly fixture: string;
  /** Whether the headers of a request contain the right key. Downloads of files are not asked for it. */
  readonly hasKey: (headers: IncomingHttpHeaders) => boolean;
  /** Whether responses must match their schemas. @defaultValue true */
  readonly checksSchemas?: boolean;
  /** Paths that need no key. */
  readonly isOpen: (path: string) => boolean;
}

/**
 * Starts a fake of an API on the loopback interface. At the end of the test, each of its responses must have matched the
 * schema that the API's maker published.
 */
export async function startFakeApi(init: FakeApiInit): Promise<FakeApi> {
  const validate = createValidator(init.fixture);
  const problems: string[] = [];
  const requests: { target: string; headers: IncomingHttpHeaders }[] = [];
  const api = { url: "", requests, intercept: undefined as FakeApi["intercept"] };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      problems.push(String(error));
      response.writeHead(500).end();
    });
  });
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "GET", url: target = "/", headers } = request;
    const body = await text(request);
    requests.push({ target: `${method} ${target}`, headers });
    const intercepted = api.intercept?.(`${method} ${target}`);
    if (intercepted !== undefined) {
      response.writeHead(intercepted.status, intercepted.headers).end(intercepted.body ?? "{}");
      return;
    }
    const { pathname, searchParams: query } = new URL(target, api.url);
    if (!init.isOpen(pathname) && !init.hasKey(headers)) {
      response.writeHead(401).end('{"message":"Invalid credentials"}');
      return;
    }
    for (const { path, respond, operation, method: ownMethod } of init.routes) {
      const match = path.exec(pathname);
      if (match !== null && method === ownMethod) {
        const params = match.slice(1).map(decodeURIComponent);
        const json: unknown = body === "" ? undefined : JSON.parse(body);
        const result = respond({ query, body: json, params, url: api.url });
        if (Buffer.isBuffer(result)) {
          response.writeHead(200).end(result);
          return;
        }
        if (result !== undefined) {
          if (operation !== undefined && init.checksSchemas !== false) {
            problems.push(...validate(operation, result));
          }
          response
            .writeHead(200, { "content-type": "application/json" })
            .end(JSON.stringify(result));
          return;
        }
      }
    }
    response.writeHead(404).end('{"message":"Not found"}');
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  api.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    expect(problems).toEqual([]);
  });
  return api;
}

interface Fixture {
  readonly responses: Readonly<Record<string, object>>;
  readonly definitions: Readonly<Record<string, object>>;
}

/** Returns a function that reports the differences between a response and its schema. */
function createValidator(name: string): (operation: string, json: unknown) => readonly string[] {
  const { responses, definitions } = JSON.parse(
    readFileSync(new URL(`../fixtures/${name}`, import.meta.url), "utf8"),
  ) as Fixture;
  const ajv = new Ajv.default({ strict: false });
  addFormats.default(ajv);
  // The description of LangSmith says so, too, but its server leaves out the zone.
  ajv.addFormat("date-time", (time) => !Number.isNaN(Date.parse(time)));
  const validators = new Map<string, ReturnType<typeof ajv.compile>>();
  return (operation, json) => {
    const schema = responses[operation];
    if (schema === undefined) {
      return [`the fixture has no ${operation}`];
    }
    const isValid = validators.get(operation) ?? ajv.compile({ ...schema, definitions });
    validators.set(operation, isValid);
    return isValid(JSON.parse(JSON.stringify(json)))
      ? []
      : [`${operation}: ${ajv.errorsText(isValid.errors)}`];
  };
}
