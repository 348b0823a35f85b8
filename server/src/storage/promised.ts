import type { LongWrite } from "./long-write.ts";

/**
 * The given resources, with methods that return promises of their results. Used for resources whose repositories are
 * still synchronous. The promise of a long write resolves to the result of the write.
 */
export type Promised<Resources> = {
  readonly [Resource in keyof Resources]: {
    readonly [Method in keyof Resources[Resource]]: Resources[Resource][Method] extends (
      ...args: infer Args
    ) => infer Returned
      ? (
          ...args: Args
        ) => Promise<Returned extends LongWrite<infer Result> ? Result : Awaited<Returned>>
      : never;
  };
};
