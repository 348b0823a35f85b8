import type { Promised } from "../storage/promised.ts";
import type { ResourceCall } from "../storage/thread-reply.ts";

/**
 * Creates a proxy that turns each call of a resource's method into a call of `invoke` with the names of the resource
 * and the method. TypeScript ensures that the method exists.
 */
export function createResourceProxy<Resources>(
  invoke: (call: ResourceCall<Resources>) => Promise<unknown>,
): Promised<Resources> {
  const methodsOf = (resource: string): object =>
    new Proxy(
      {},
      {
        get:
          (_target, method) =>
          (...args: readonly unknown[]) =>
            invoke({ resource, method: String(method), args } as ResourceCall<Resources>),
      },
    );
  const resources = new Map<string, object>();
  return new Proxy(
    {},
    {
      get: (_target, name) => {
        const resource = String(name);
        const methods = resources.get(resource) ?? methodsOf(resource);
        resources.set(resource, methods);
        return methods;
      },
    },
  ) as Promised<Resources>;
}
