/** Blocks until `noun.method(...args)` is answered. */
export type BlockingBridge = (noun: string, method: string, ...args: readonly unknown[]) => unknown;

export const bridges: Readonly<
  Record<"synckit" | "own", (endpoint: string, timeoutMs: number) => BlockingBridge>
>;
export const dyingBridges: Readonly<Record<"synckit" | "own", () => () => unknown>>;
