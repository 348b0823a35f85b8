import type { LongWrite } from "./long-write.ts";

/**
 * The same methods with promises as results, for the resources whose repositories are still synchronous. A long write
 * resolves to its result.
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
