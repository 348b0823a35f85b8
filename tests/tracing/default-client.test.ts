import { expect, test } from "vitest";
import { startRun, withRun } from "../../src/tracing/context.ts";
import {
  defaultClient,
  registerClient,
  setClientFactory,
} from "../../src/tracing/default-client.ts";
import { traceable } from "../../src/tracing/traceable.ts";
import { CollectingClient } from "./collecting-client.ts";

test("is the current run's, else the oldest that is open, else a new one, else none", () => {
  expect(defaultClient()).toBeUndefined();
  const [first, second, made] = [1, 2, 3].map(() => new CollectingClient());
  setClientFactory(() => made!);
  const closeFirst = registerClient(first!);
  const closeSecond = registerClient(second!);
  expect(defaultClient()).toBe(first);
  expect(withRun(startRun(second!), () => defaultClient())).toBe(second);
  closeFirst();
  closeFirst();
  expect(defaultClient()).toBe(second);
  closeSecond();
  expect(defaultClient()).toBe(made);
});

test("that can't be made leaves the traced call as it is", () => {
  setClientFactory(() => {
    throw new Error("no configuration");
  });
  expect(traceable((n: number) => n + 1)(1)).toBe(2);
});
