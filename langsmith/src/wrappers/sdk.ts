import type { AnyFunction } from "../any.ts";
import { traceable } from "../tracing/traceable.ts";
import type { RunTreeConfig } from "../tracing/run-tree.ts";

/** Options of {@link wrapSDK}. */
type WrapSDKOptions = Partial<RunTreeConfig & { runName: string }>;

/**
 * Wraps any object so that each call of its methods, and of methods of the objects within it, is recorded as a run of
 * type `llm`. The methods of the wrapper return promises.
 */
export function wrapSDK<T extends object>(sdk: T, options: WrapSDKOptions = {}): T {
  const { name, runName, ...config } = options;
  const { constructor: creator } = sdk as { readonly constructor?: { readonly name?: string } };
  return wrapObject(sdk, name ?? runName ?? creator?.name ?? "sdk", config);
}

function wrapObject<T extends object>(object: T, path: string, config: Partial<RunTreeConfig>): T {
  return new Proxy(object, {
    get: (target, key): unknown => {
      const member: unknown = Reflect.get(target, key, target);
      const memberPath = `${path}.${String(key)}`;
      if (typeof member === "function") {
        const bound = member.bind(target) as AnyFunction;
        return traceable(bound, { run_type: "llm", ...config, name: memberPath });
      }
      const isObject =
        typeof member === "object" &&
        member !== null &&
        !Array.isArray(member) &&
        !(member instanceof Date);
      return isObject ? wrapObject(member, memberPath, config) : member;
    },
  });
}
