import { useEffect, useState } from "react";

/** What was asked, and what came of it. */
type State<Value> =
  /** `last`: what came of the question before. */
  | { readonly kind: "pending"; readonly last: Value | undefined }
  | { readonly kind: "here"; readonly value: Value }
  | { readonly kind: "failed"; readonly error: Error };

/**
 * An answer that is there at once or comes later. `answer` must be the same object until something
 * else is asked: keep it in `useMemo`.
 */
export function useAsyncValue<Value>(answer: Value | Promise<Value>): State<Value> {
  const [later, setLater] = useState<{ readonly of: unknown; readonly state: State<Value> }>();
  useEffect(() => {
    if (!(answer instanceof Promise)) {
      return undefined;
    }
    let isCurrent = true;
    const settle = (state: State<Value>): void => {
      if (isCurrent) {
        setLater({ of: answer, state });
      }
    };
    answer.then(
      (value) => settle({ kind: "here", value }),
      (cause: unknown) =>
        settle({
          kind: "failed",
          error: cause instanceof Error ? cause : new Error(String(cause)),
        }),
    );
    return () => {
      isCurrent = false;
    };
  }, [answer]);
  if (!(answer instanceof Promise)) {
    return { kind: "here", value: answer };
  }
  if (later?.of === answer) {
    return later.state;
  }
  return { kind: "pending", last: later?.state.kind === "here" ? later.state.value : undefined };
}

/** What can be shown already, if only of the question before. */
export const latestValue = <Value>(state: State<Value>): Value | undefined => {
  switch (state.kind) {
    case "here":
      return state.value;
    case "pending":
      return state.last;
    case "failed":
      return undefined;
  }
};
