import { expect as vitestExpect } from "vitest";
import type { Assertion, ExpectStatic } from "vitest";
import type { Any } from "../../any.ts";
import { readCurrentTest, wrapEvaluator } from "./current-test.ts";
import type { SimpleEvaluator } from "./current-test.ts";
import { toBeAbsoluteCloseTo, toBeRelativeCloseTo, toBeSemanticCloseTo } from "./matchers.ts";
import type { CloseToOptions, SemanticCloseToOptions } from "./matchers.ts";

/** What `expect` can check beyond vitest's own matchers: how similar a text is to the expected one. */
interface LangsmithMatchers {
  toBeRelativeCloseTo(expected: string, options?: CloseToOptions): Promise<void>;
  toBeAbsoluteCloseTo(expected: string, options?: CloseToOptions): Promise<void>;
  toBeSemanticCloseTo(expected: string, options: SemanticCloseToOptions): Promise<void>;
}

/** The expectations of vitest for a score that an evaluator has yet to compute. Each returns a promise. */
type AsyncExpectations = {
  [Name in keyof Assertion]: Assertion[Name] extends (...args: infer Args) => unknown
    ? (...args: Args) => Promise<void>
    : Assertion[Name];
} & { not: AsyncExpectations };

/** The expectations that `expect` returns. */
type Expectation<Value> = Assertion<Value> &
  LangsmithMatchers & {
    not: Assertion<Value> & LangsmithMatchers;
    /**
     * Calls an evaluator with the value. Its score becomes feedback, and the expectations that follow check the score.
     */
    evaluatedBy(evaluator: SimpleEvaluator): AsyncExpectations;
  };

/** The type of `expect`. */
export type Expect = Omit<ExpectStatic, "call"> &
  (<Value>(actual: Value, message?: string) => Expectation<Value>);

vitestExpect.extend({ toBeRelativeCloseTo, toBeAbsoluteCloseTo, toBeSemanticCloseTo });

/** The `expect` of vitest, with further matchers. As with langsmith, only `evaluatedBy` records feedback. */
export const expect: Expect = new Proxy(vitestExpect, {
  apply: (target, thisArgument, args: [unknown, string?]): unknown => {
    const assertion: object = Reflect.apply(target, thisArgument, args);
    return new Proxy(assertion, {
      get: (matchers, key): unknown =>
        key === "evaluatedBy"
          ? (evaluator: SimpleEvaluator) => expectOfScore(evaluator, args[0])
          : Reflect.get(matchers, key, matchers),
    });
  },
}) as unknown as Expect;

/** Returns expectations for the score of an evaluator. The evaluator is called when an expectation is called. */
function expectOfScore(evaluator: SimpleEvaluator, outputs: unknown): AsyncExpectations {
  const { inputs, referenceOutputs } = readCurrentTest("evaluatedBy");
  const assertScore = async (path: readonly string[], args: readonly unknown[]): Promise<void> => {
    const result = await wrapEvaluator(evaluator)({
      inputs,
      referenceOutputs,
      outputs: outputs as Record<string, Any>,
    });
    const matchers = path.slice(0, -1);
    const start: unknown = vitestExpect(result.score);
    const assertion = matchers.reduce(readMember, start);
    const matcher = readMember(assertion, path.at(-1) ?? "");
    if (typeof matcher !== "function") {
      throw new TypeError(`expect has no matcher ${path.join(".")}.`);
    }
    await Reflect.apply<unknown, unknown[], unknown>(matcher as () => unknown, assertion, [
      ...args,
    ]);
  };
  const chain = (path: readonly string[]): unknown =>
    new Proxy(() => {}, {
      get: (_, key): unknown => (key === "then" ? undefined : chain([...path, String(key)])),
      apply: (_, __, args: unknown[]): unknown => assertScore(path, args),
    });
  return chain([]) as AsyncExpectations;
}

const readMember = (value: unknown, key: string): unknown =>
  Reflect.get(Object(value) as object, key);
