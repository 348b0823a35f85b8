import { describe, expect, test } from "vitest";
import { currentRun, startRun, withRun } from "../../src/tracing/runs/context.ts";
import { recorder } from "../../src/tracing/tape/recorder.ts";
import { traceable } from "../../src/tracing/runs/traceable.ts";
import { CollectingClient } from "./collecting-client.ts";

const client = (): CollectingClient => new CollectingClient();

describe("a call", () => {
  test("of a plain function is recorded and stays synchronous", () => {
    const seen = client();
    const add = traceable((a: number, b: number) => a + b, { name: "add", client: seen });
    expect(add(1, 2)).toBe(3);
    expect(seen.start("add")).toMatchObject({ runType: "chain", inputs: { args: [1, 2] } });
    expect(seen.end("add").outputs).toEqual({ outputs: 3 });
  });

  test("of an async function ends when its promise does", async () => {
    const seen = client();
    const ask = traceable(async (question: string) => ({ answer: question.length }), {
      name: "ask",
      runType: "llm",
      tags: ["a"],
      metadata: { m: 1 },
      projectName: "mill",
      client: seen,
    });
    const promise = ask("why");
    expect(promise).toBeInstanceOf(Promise);
    expect(seen.ends()).toEqual([]);
    await expect(promise).resolves.toEqual({ answer: 3 });
    expect(seen.start("ask")).toMatchObject({
      runType: "llm",
      tags: ["a"],
      metadata: { m: 1 },
      projectName: "mill",
      inputs: { input: "why" },
    });
    expect(seen.end("ask").outputs).toEqual({ answer: 3 });
  });

  test.each<[string, readonly unknown[], unknown]>([
    ["no argument is nothing", [], {}],
    ["one plain object is itself", [{ a: 1 }], { a: 1 }],
    [
      "one object without a prototype is itself",
      [Object.assign(Object.create(null), { a: 1 })],
      { a: 1 },
    ],
    ["one list is a value", [[1, 2]], { input: [1, 2] }],
    ["one null is a value", [null], { input: null }],
    ["one undefined is nothing", [undefined], {}],
    ["one date is a value", [new Date(0)], { input: new Date(0) }],
    ["several are a list", [1, { b: 2 }], { args: [1, { b: 2 }] }],
  ])("inputs: %s", (_, args, inputs) => {
    const seen = client();
    traceable((..._given: readonly unknown[]) => {}, { name: "fn", client: seen })(...args);
    expect(seen.start("fn").inputs).toEqual(inputs);
  });

  test("goes by the function's name, else by its run type", () => {
    const seen = client();
    function named(): void {}
    traceable(named, { client: seen })();
    traceable(() => {}, { client: seen })();
    expect(seen.starts().map(({ name }) => name)).toEqual(["named", "chain"]);
  });

  test("keeps this, and the identity of what is answered", () => {
    const seen = client();
    const counter = {
      step: 2,
      next: traceable(
        function (this: { step: number }, from: number) {
          return { self: this, next: from + this.step };
        },
        { client: seen },
      ),
    };
    const shared = new Map();
    expect(counter.next(40)).toEqual({ self: counter, next: 42 });
    expect(traceable(() => shared, { client: seen })()).toBe(shared);
  });

  test("keeps name, length, properties and construction of the function", () => {
    const plain = (a: string, b: string): string => a + b;
    const fn = Object.assign(plain, { version: 7 });
    class Point {
      x = 1;
    }
    const traced = traceable(fn);
    expect([traced.name, traced.length, traced.version]).toEqual(["plain", 2, 7]);
    expect(
      new (traceable(Point as unknown as () => void) as unknown as typeof Point)(),
    ).toBeInstanceOf(Point);
  });

  test("nests below the run around it, and the innermost is current", async () => {
    const seen = client();
    const inner = traceable(async () => currentRun()?.id, { name: "inner", client: seen });
    const outer = traceable(async () => [currentRun()?.id, await inner()], {
      name: "outer",
      client: seen,
    });
    const [outerId, innerId] = await outer();
    expect(seen.start("outer")).toMatchObject({ id: outerId, parentRunId: undefined });
    expect(seen.start("inner")).toMatchObject({ id: innerId, parentRunId: outerId });
  });

  test("is recorded by the client of the run around it where none is named", () => {
    const seen = client();
    withRun(startRun(seen), () => traceable(() => 1, { name: "fn" })());
    expect(seen.ends().map(({ name }) => name)).toEqual(["fn"]);
  });
});

describe("a failure", () => {
  const thrown: readonly unknown[] = [
    new TypeError("mine"),
    "text",
    undefined,
    Object.freeze({ code: 7 }),
  ];

  test.each(thrown)("of a plain function is recorded and thrown unchanged: %s", (error) => {
    const seen = client();
    const fail = traceable(
      () => {
        throw error;
      },
      { name: "fail", client: seen },
    );
    let caught: unknown = "nothing";
    try {
      fail();
    } catch (error_) {
      caught = error_;
    }
    expect(caught).toBe(error);
    expect(seen.end("fail").error).toEqual(expect.any(String));
  });

  test.each(thrown)(
    "of an async function is recorded and rejected unchanged: %s",
    async (error) => {
      const seen = client();
      const fail = traceable(
        async () => {
          throw error;
        },
        { name: "fail", client: seen },
      );
      let caught: unknown = "nothing";
      try {
        await fail();
      } catch (error_) {
        caught = error_;
      }
      expect(caught).toBe(error);
      expect(seen.end("fail").error).toEqual(expect.any(String));
    },
  );
});

describe("a promise of another make", () => {
  class Query {
    executed = 0;
    readonly #secret = "kept";
    // oxlint-disable-next-line unicorn/no-thenable -- thenables are tested here
    then<T>(onValue?: (value: string) => T, onError?: (error: unknown) => T): Promise<T> {
      this.executed += 1;
      return Promise.resolve(`${currentRun()?.name}`).then(onValue, onError);
    }
    secret(): string {
      return this.#secret;
    }
  }

  test("is executed when it is awaited, once, inside the run, and keeps its methods", async () => {
    const seen = client();
    const original = new Query();
    const query = traceable(() => original, { name: "query", client: seen })();
    expect(query).toBeInstanceOf(Query);
    expect(query.secret()).toBe("kept");
    expect(original.executed).toBe(0);
    expect(seen.ends()).toEqual([]);
    await expect(query).resolves.toBe("query");
    expect(original.executed).toBe(1);
    expect(seen.end("query").outputs).toEqual({ outputs: "query" });
  });

  test("its callbacks run in the context of who gave them", async () => {
    const seen = client();
    const query = traceable(() => new Query(), { name: "query", client: seen })();
    await expect(query.then(() => currentRun())).resolves.toBeUndefined();
  });

  test("a subclass of Promise stays one", async () => {
    class Labelled<T> extends Promise<T> {
      label = "x";
    }
    const seen = client();
    const traced = traceable(() => Labelled.resolve(1) as Labelled<number>, {
      name: "fn",
      client: seen,
    })();
    expect(traced).toBeInstanceOf(Labelled);
    expect(traced.label).toBe("x");
    await expect(traced.finally(() => {})).resolves.toBe(1);
    expect(seen.end("fn").outputs).toEqual({ outputs: 1 });
  });
});

describe("a failure to record", () => {
  test("of a client that throws at everything never reaches the caller", async () => {
    const refuse = (): never => {
      throw new Error("recorder");
    };
    const broken = new CollectingClient();
    Object.assign(broken[recorder], { isSampled: refuse, recordStart: refuse, recordEnd: refuse });
    expect(traceable((n: number) => n + 1, { client: broken })(1)).toBe(2);
    await expect(traceable(async () => 7, { client: broken })()).resolves.toBe(7);
  });

  test("at the end of a run never reaches the caller", async () => {
    const seen = client();
    Object.assign(seen[recorder], {
      recordEnd: () => {
        throw new Error("recorder");
      },
    });
    expect(traceable((n: number) => n + 1, { client: seen })(1)).toBe(2);
    await expect(traceable(async () => 7, { client: seen })()).resolves.toBe(7);
    expect(seen.warnings).toHaveLength(2);
  });

  test("where there is no client leaves the call as it is", () => {
    expect(traceable((n: number) => n + 1)(1)).toBe(2);
  });
});
