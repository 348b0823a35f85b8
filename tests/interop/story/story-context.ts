import type { Client } from "millrace";

/** The environment of a story: a client, and a server that is either real or sends sample responses. */
export interface StoryContext {
  readonly client: Client;
  /** Base address of the server that the client uses. */
  readonly endpoint: string;
  /**
   * Checks the effect of calls. The check only runs with a real server, because a server with sample responses
   * stores nothing.
   */
  readonly checkEffect: (check: () => Promise<void> | void) => Promise<void>;
  /** Records a trace of a root and one child, both ended. Resolves when the server has the runs. */
  readonly recordTrace: (options?: TraceOptions) => Promise<Trace>;
}

interface TraceOptions {
  readonly project?: string;
  readonly referenceExampleId?: string;
}

export interface Trace {
  readonly rootId: string;
  readonly childId: string;
  readonly startedAt: Date;
}

/** Calls every method of one resource, with every argument that it accepts. */
export type Story = (world: StoryContext) => Promise<void>;

/** A time after everything so far, also at microsecond precision, which a Date lacks. */
export const laterThanNow = (): Date => new Date(Date.now() + 1_000);

/** The methods of a client's resources, as `resource.method`. */
export function methodsOf(client: Client): readonly string[] {
  return resourcesOf(client).flatMap(([name, resource]) => {
    const methods = new Set<string>();
    for (let from = prototypeOf(resource); from !== Object.prototype; from = prototypeOf(from)) {
      for (const method of Object.getOwnPropertyNames(from)) {
        methods.add(`${name}.${method}`);
      }
    }
    methods.delete(`${name}.constructor`);
    return [...methods];
  });
}

const prototypeOf = (value: object): object => Object.getPrototypeOf(value) as object;

/** A client's resources: its properties that are instances of classes. */
const resourcesOf = (client: Client): readonly (readonly [string, object])[] =>
  Object.entries(client).filter(
    (entry): entry is [string, object] =>
      typeof entry[1] === "object" &&
      entry[1] !== null &&
      prototypeOf(entry[1] as object) !== Object.prototype,
  );

/** Wraps a client so that every call of a resource's method is added to `called` as `resource.method`. */
export function recordCalls(client: Client, called: Set<string>): Client {
  const resources = new Map(
    resourcesOf(client).map(([name, resource]) => [
      name,
      new Proxy(resource, {
        get(target, property) {
          const value: unknown = Reflect.get(target, property, target);
          if (typeof value !== "function") {
            return value;
          }
          return (...args: readonly unknown[]): unknown => {
            called.add(`${name}.${String(property)}`);
            return Reflect.apply(value, target, args);
          };
        },
      }),
    ]),
  );
  return new Proxy(client, {
    get(target, property) {
      const value: unknown =
        resources.get(String(property)) ?? Reflect.get(target, property, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
