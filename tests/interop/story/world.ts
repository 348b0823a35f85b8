import type { Client } from "millrace";

/** What a story is told in: a client, and whether it is a real server that answers. */
export interface World {
  readonly client: Client;
  /** Base address of the server that the client asks. */
  readonly endpoint: string;
  /**
   * Checks what came of it. Called where a real server answers, since one that makes its answers up
   * remembers nothing.
   */
  readonly effect: (check: () => Promise<void> | void) => Promise<void>;
  /** Records a trace of a root and one child, ended; the runs are there when it resolves. */
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

/** One noun's part: every method of it, with every argument that it takes. */
export type Story = (world: World) => Promise<void>;

/** A time that everything told so far is before: a Date has no microseconds. */
export const soon = (): Date => new Date(Date.now() + 1_000);

/** The methods of a client's nouns, as `noun.method`. */
export function methodsOf(client: Client): readonly string[] {
  return nounsOf(client).flatMap(([name, noun]) => {
    const methods = new Set<string>();
    for (let from = prototypeOf(noun); from !== Object.prototype; from = prototypeOf(from)) {
      for (const method of Object.getOwnPropertyNames(from)) {
        methods.add(`${name}.${method}`);
      }
    }
    methods.delete(`${name}.constructor`);
    return [...methods];
  });
}

const prototypeOf = (value: object): object => Object.getPrototypeOf(value) as object;

/** The nouns are what a client holds that is an instance of a class of its own. */
const nounsOf = (client: Client): readonly (readonly [string, object])[] =>
  Object.entries(client).filter(
    (entry): entry is [string, object] =>
      typeof entry[1] === "object" &&
      entry[1] !== null &&
      prototypeOf(entry[1] as object) !== Object.prototype,
  );

/** The client, with every call of a noun's method written into `called` as `noun.method`. */
export function observed(client: Client, called: Set<string>): Client {
  const nouns = new Map(
    nounsOf(client).map(([name, noun]) => [
      name,
      new Proxy(noun, {
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
      const value: unknown = nouns.get(String(property)) ?? Reflect.get(target, property, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
