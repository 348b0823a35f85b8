import type { ClientChoice } from "millrace";
import { withRunOptions } from "millrace/fetch";
import { isEnvTracingEnabled, warnOnce } from "../environment.ts";
import { UnsupportedError } from "../unsupported.ts";
import type { RunTreeConfig } from "../tracing/run-tree.ts";
import { chooseClient } from "./choose-client.ts";

/** Options for the run of one call, in the second argument of a wrapped method. */
export type ExtraRunTreeConfig = Pick<Partial<RunTreeConfig>, "name" | "metadata" | "tags">;

/** The options of Millrace's wrappers that are used here. */
interface WrapOptions {
  readonly client: ClientChoice;
  readonly name?: string;
  readonly metadata?: Record<string, unknown>;
}

/** Options that cause no warning. */
const supportedOptions = new Set(["client", "name", "metadata", "tags", "tracingEnabled"]);

/**
 * Converts the options of a wrapper. Returns `undefined` if tracing is off when the client is wrapped. Its calls are
 * then never recorded.
 */
function toWrapOptions(
  wrapperName: string,
  options: Partial<RunTreeConfig> = {},
): WrapOptions | undefined {
  for (const name of Object.keys(options)) {
    if (!supportedOptions.has(name)) {
      warnOnce(
        `The option ${name} of ${wrapperName} has no effect. Known: ${[...supportedOptions].join(", ")}; everything else follows from the current run.`,
      );
    }
  }
  if (!isEnvTracingEnabled(options.tracingEnabled)) {
    return undefined;
  }
  const { name, metadata } = options;
  return {
    client: chooseClient(options),
    ...(name === undefined ? {} : { name }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/** The argument of {@link recordCalls}: the client, and how its calls are recorded. */
interface RecordedClient {
  readonly wrapperName: string;
  readonly client: object;
  readonly options: Partial<RunTreeConfig> | undefined;
  /** Wraps the client with Millrace's function. Called only if tracing is on. */
  readonly wrap: (wrapOptions: WrapOptions) => void;
  /** The paths of the members whose methods accept `langsmithExtra`. */
  readonly resources: readonly (readonly string[])[];
  readonly methodNames: readonly string[];
}

/** Records the calls of a client for models, and makes its methods accept `langsmithExtra`. */
export function recordCalls(recorded: RecordedClient): void {
  const { wrapperName, client, options, wrap, resources, methodNames } = recorded;
  const wrapOptions = toWrapOptions(wrapperName, options);
  if (wrapOptions !== undefined) {
    wrap(wrapOptions);
  }
  for (const path of resources) {
    acceptExtra(readMember(client, path), methodNames, options?.tags);
  }
}

/** A method of a client for models. */
type Method = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Makes methods of a client accept `langsmithExtra` in their second argument, and adds tags to the runs of all calls.
 * The client's other members are not changed.
 */
function acceptExtra(
  resource: unknown,
  methodNames: readonly string[],
  tags: readonly string[] | undefined,
): void {
  if (typeof resource !== "object" || resource === null) {
    return;
  }
  for (const name of methodNames) {
    const method: unknown = Reflect.get(resource, name);
    if (typeof method === "function" && !wrappedMethods.has(method)) {
      const wrapped = wrapMethod(method as Method, tags);
      wrappedMethods.add(wrapped);
      Reflect.defineProperty(resource, name, {
        value: wrapped,
        configurable: true,
        writable: true,
        enumerable: false,
      });
    }
  }
}

const wrappedMethods = new WeakSet<object>();

const wrapMethod = (method: Method, tags: readonly string[] | undefined): Method =>
  function (this: unknown, ...args: unknown[]): unknown {
    const [body, options, ...others] = args;
    const hasExtra = typeof options === "object" && options !== null && "langsmithExtra" in options;
    if (!hasExtra) {
      return tags === undefined
        ? Reflect.apply(method, this, args)
        : withRunOptions({ tags }, () =>
            Reflect.apply<unknown, unknown[], unknown>(method, this, args),
          );
    }
    const { langsmithExtra, ...otherOptions } = options as {
      readonly langsmithExtra: ExtraRunTreeConfig;
    };
    const { name, metadata } = langsmithExtra ?? {};
    const runOptions = {
      ...(name === undefined ? {} : { name }),
      ...(metadata === undefined ? {} : { metadata }),
      tags: [...(tags ?? []), ...(langsmithExtra?.tags ?? [])],
    };
    return withRunOptions(runOptions, () =>
      Reflect.apply<unknown, unknown[], unknown>(method, this, [body, otherOptions, ...others]),
    );
  };

/** Reads a member of a client by its path. */
export const readMember = (client: unknown, path: readonly string[]): unknown => {
  let member = client;
  for (const name of path) {
    member = typeof member === "object" && member !== null ? Reflect.get(member, name) : undefined;
  }
  return member;
};

/** Creates the error for an object that is not a client of the library. */
export const createUnknownClientError = (wrapperName: string, example: string): UnsupportedError =>
  new UnsupportedError(`${wrapperName} expects a client such as ${example}.`);
