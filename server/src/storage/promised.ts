import type { LongWrite } from "./long-write.ts";

/** The same methods, answering later; a long write with its result. */
export type Promised<Nouns> = {
  readonly [Noun in keyof Nouns]: {
    readonly [Method in keyof Nouns[Noun]]: Nouns[Noun][Method] extends (
      ...args: infer Args
    ) => infer Answer
      ? (...args: Args) => Promise<Answer extends LongWrite<infer Result> ? Result : Answer>
      : never;
  };
};
