import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { TaskQueue } from "../task-queue.ts";

test("a task starts at once, and one that does not wait has ended when add returns", () => {
  const queue = new TaskQueue();
  const events: string[] = [];
  queue.add(() => void events.push("a"));
  queue.add(() => void events.push("b"));
  expect(events).toEqual(["a", "b"]);
});

test("a task that waits is not overlapped by the next one", async () => {
  const queue = new TaskQueue();
  const events: string[] = [];
  const run = (name: string) => async (): Promise<void> => {
    events.push(`${name} begins`);
    await delay(1);
    events.push(`${name} ends`);
  };
  queue.add(run("a"));
  queue.add(run("c"));
  queue.addNext(run("b"));
  await new Promise<void>((resolve) => {
    queue.add(resolve);
  });
  expect(events).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});
