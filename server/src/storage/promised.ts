import type { LongWrite } from "./long-write.ts";

/** The same methods, answering later; a long write with its result. */
export type Promised<Resources> = {
  readonly [Resource in keyof Resources]: {
    readonly [Method in keyof Resources[Resource]]: Resources[Resource][Method] extends (
      ...args: infer Args
    ) => infer Answer
      ? (...args: Args) => Promise<Answer extends LongWrite<infer Result> ? Result : Answer>
      : never;
  };
};
