import { useEffect, useState } from "react";

/** The state of a value that may arrive later. */
type AsyncState<Value> =
  /** `latestValue` is the value of the previous promise, which can be shown in the meantime. */
  | { readonly kind: "pending"; readonly latestValue: Value | undefined }
  | { readonly kind: "ready"; readonly value: Value }
  | { readonly kind: "failed"; readonly error: Error };

/**
 * Returns the state of `source`, which is a promise or a value that is available at once. Memoize `source` with
 * `useMemo`: if each render created a new promise, the state would always be `pending`.
 */
export function useAsyncValue<Value>(source: Value | Promise<Value>): AsyncState<Value> {
  const [settled, setSettled] = useState<{
    readonly source: unknown;
    readonly state: AsyncState<Value>;
  }>();
  useEffect(() => {
    if (!(source instanceof Promise)) {
      return undefined;
    }
    let isCurrent = true;
    const settle = (state: AsyncState<Value>): void => {
      if (isCurrent) {
        setSettled({ source, state });
      }
    };
    source.then(
      (value) => settle({ kind: "ready", value }),
      (cause: unknown) =>
        settle({
          kind: "failed",
          error: cause instanceof Error ? cause : new Error(String(cause)),
        }),
    );
    return () => {
      isCurrent = false;
    };
  }, [source]);
  if (!(source instanceof Promise)) {
    return { kind: "ready", value: source };
  }
  if (settled?.source === source) {
    return settled.state;
  }
  return {
    kind: "pending",
    latestValue: settled?.state.kind === "ready" ? settled.state.value : undefined,
  };
}

/** Returns the value; while it is pending, returns the value of the previous source. */
export const readLatestValue = <Value>(state: AsyncState<Value>): Value | undefined => {
  switch (state.kind) {
    case "ready":
      return state.value;
    case "pending":
      return state.latestValue;
    case "failed":
      return undefined;
  }
};
