/** Calls `resource.method(...args)` and blocks until the result is available. */
export type BlockingBridge = (
  resource: string,
  method: string,
  ...args: readonly unknown[]
) => unknown;

export const bridges: Readonly<
  Record<"synckit" | "own", (endpoint: string, timeoutMs: number) => BlockingBridge>
>;
export const exitingBridges: Readonly<Record<"synckit" | "own", () => () => unknown>>;
