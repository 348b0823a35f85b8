import type { Any, AnyFunction } from "../any.ts";
import type { ROOT } from "./context.ts";
import type { RunTree } from "./run-tree.ts";
import type { RunnableConfigLike } from "./runnable-config.ts";

type SmartPromise<Result> =
  Result extends AsyncIterable<Any>
    ? Result
    : Result extends Promise<unknown>
      ? Result
      : Promise<Result>;

type TracedSignature<Pair> = Pair extends [infer Args extends Any[], infer Return]
  ? Args extends [RunTree, ...infer RestArgs]
    ? {
        (runTree: RunTree | typeof ROOT, ...args: RestArgs): SmartPromise<Return>;
        (config: RunnableConfigLike, ...args: RestArgs): SmartPromise<Return>;
      }
    : {
        (...args: Args): SmartPromise<Return>;
        (runTree: RunTree | typeof ROOT, ...rest: Args): SmartPromise<Return>;
        (config: RunnableConfigLike, ...args: Args): SmartPromise<Return>;
      }
  : never;

type Intersection<Union> = (Union extends Any ? (x: Union) => void : never) extends (
  x: infer All,
) => void
  ? All
  : never;

/**
 * The type of a traced function. Up to five overloads are kept, and each also accepts a run or a config before its
 * arguments.
 */
export type TraceableFunction<Func extends AnyFunction> = (Func extends {
  (...args: infer A1): infer R1;
  (...args: infer A2): infer R2;
  (...args: infer A3): infer R3;
  (...args: infer A4): infer R4;
  (...args: infer A5): infer R5;
}
  ? Intersection<TracedSignature<[A1, R1] | [A2, R2] | [A3, R3] | [A4, R4] | [A5, R5]>>
  : Func extends {
        (...args: infer A1): infer R1;
        (...args: infer A2): infer R2;
        (...args: infer A3): infer R3;
        (...args: infer A4): infer R4;
      }
    ? Intersection<TracedSignature<[A1, R1] | [A2, R2] | [A3, R3] | [A4, R4]>>
    : Func extends {
          (...args: infer A1): infer R1;
          (...args: infer A2): infer R2;
          (...args: infer A3): infer R3;
        }
      ? Intersection<TracedSignature<[A1, R1] | [A2, R2] | [A3, R3]>>
      : Func extends { (...args: infer A1): infer R1; (...args: infer A2): infer R2 }
        ? Intersection<TracedSignature<[A1, R1] | [A2, R2]>>
        : Func extends (...args: infer A1) => infer R1
          ? Intersection<TracedSignature<[A1, R1]>>
          : never) & { [Key in keyof Func]: Func[Key] };

/** The name that signatures of the package `langsmith` use for a run: always a `RunTree` here. */
export type RunTreeLike = RunTree;
