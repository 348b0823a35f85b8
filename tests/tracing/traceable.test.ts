import { describe, expect, test } from "vitest";
import { currentRun, startRun, withRun } from "../../src/tracing/runs/context.ts";
import { uncountedLosses } from "../../src/tracing/queue/ledger.ts";
import { recorder } from "../../src/tracing/tape/recorder.ts";
import { traceable } from "../../src/tracing/runs/traceable.ts";
import { CollectingClient } from "./collecting-client.ts";

const client = (): CollectingClient => new CollectingClient();

describe("a call", () => {
  test("of a plain function is recorded and stays synchronous", () => {
    const collector = client();
    const add = traceable((a: number, b: number) => a + b, { name: "add", client: collector });
    expect(add(1, 2)).toBe(3);
    expect(collector.start("add")).toMatchObject({ runType: "chain", inputs: { args: [1, 2] } });
    expect(collector.end("add").outputs).toEqual({ outputs: 3 });
  });

  test("of an async function ends when its promise settles", async () => {
    const collector = client();
    const ask = traceable(async (question: string) => ({ answer: question.length }), {
      name: "ask",
      runType: "llm",
      tags: ["a"],
      metadata: { m: 1 },
      projectName: "mill",
      client: collector,
    });
    const promise = ask("why");
    expect(promise).toBeInstanceOf(Promise);
    expect(collector.ends()).toEqual([]);
    await expect(promise).resolves.toEqual({ answer: 3 });
    expect(collector.start("ask")).toMatchObject({
      runType: "llm",
      tags: ["a"],
      metadata: { m: 1 },
      projectName: "mill",
      inputs: { input: "why" },
    });
    expect(collector.end("ask").outputs).toEqual({ answer: 3 });
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
    const collector = client();
    traceable((..._given: readonly unknown[]) => {}, { name: "fn", client: collector })(...args);
    expect(collector.start("fn").inputs).toEqual(inputs);
  });

  test("is named after the function, else after its run type", () => {
    const collector = client();
    function named(): void {}
    traceable(named, { client: collector })();
    traceable(() => {}, { client: collector })();
    expect(collector.starts().map(({ name }) => name)).toEqual(["named", "chain"]);
  });

  test("keeps this, and the identity of the returned value", () => {
    const collector = client();
    const counter = {
      step: 2,
      next: traceable(
        function (this: { step: number }, from: number) {
          return { self: this, next: from + this.step };
        },
        { client: collector },
      ),
    };
    const shared = new Map();
    expect(counter.next(40)).toEqual({ self: counter, next: 42 });
    expect(traceable(() => shared, { client: collector })()).toBe(shared);
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
    const collector = client();
    const inner = traceable(async () => currentRun()?.id, { name: "inner", client: collector });
    const outer = traceable(async () => [currentRun()?.id, await inner()], {
      name: "outer",
      client: collector,
    });
    const [outerId, innerId] = await outer();
    expect(collector.start("outer")).toMatchObject({ id: outerId, parentRunId: undefined });
    expect(collector.start("inner")).toMatchObject({ id: innerId, parentRunId: outerId });
  });

  test("is recorded by the client of the surrounding run if none is given", () => {
    const collector = client();
    withRun(startRun(collector), () => traceable(() => 1, { name: "fn" })());
    expect(collector.ends().map(({ name }) => name)).toEqual(["fn"]);
  });
});

describe("what is no function", () => {
  test.each<[string, unknown, string]>([
    ["a text", "ask", '"ask"'],
    ["an object", { name: "ask" }, "a value of type object"],
    ["a promise", Promise.resolve(() => 1), "a value of type object"],
    ["null", null, "null"],
    ["nothing", undefined, "a value of type undefined"],
  ])("%s is refused when it is wrapped", (_, value, given) => {
    expect(() => traceable(value as () => void)).toThrow(
      new TypeError(
        `traceable: the first argument must be a function, not ${given}. Pass the function itself, and options such as { name } as the second argument`,
      ),
    );
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
    const collector = client();
    const fail = traceable(
      () => {
        throw error;
      },
      { name: "fail", client: collector },
    );
    let caught: unknown = "nothing";
    try {
      fail();
    } catch (error_) {
      caught = error_;
    }
    expect(caught).toBe(error);
    expect(collector.end("fail").error).toEqual(expect.any(String));
  });

  test.each(thrown)(
    "of an async function is recorded and rejected unchanged: %s",
    async (error) => {
      const collector = client();
      const fail = traceable(
        async () => {
          throw error;
        },
        { name: "fail", client: collector },
      );
      let caught: unknown = "nothing";
      try {
        await fail();
      } catch (error_) {
        caught = error_;
      }
      expect(caught).toBe(error);
      expect(collector.end("fail").error).toEqual(expect.any(String));
    },
  );
});

describe("a thenable of another library", () => {
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
    const collector = client();
    const original = new Query();
    const query = traceable(() => original, { name: "query", client: collector })();
    expect(query).toBeInstanceOf(Query);
    expect(query.secret()).toBe("kept");
    expect(original.executed).toBe(0);
    expect(collector.ends()).toEqual([]);
    await expect(query).resolves.toBe("query");
    expect(original.executed).toBe(1);
    expect(collector.end("query").outputs).toEqual({ outputs: "query" });
  });

  test("its callbacks run in the context in which they were added", async () => {
    const collector = client();
    const query = traceable(() => new Query(), { name: "query", client: collector })();
    await expect(query.then(() => currentRun())).resolves.toBeUndefined();
  });

  test("a subclass of Promise stays one", async () => {
    class Labelled<T> extends Promise<T> {
      label = "x";
    }
    const collector = client();
    const traced = traceable(() => Labelled.resolve(1) as Labelled<number>, {
      name: "fn",
      client: collector,
    })();
    expect(traced).toBeInstanceOf(Labelled);
    expect(traced.label).toBe("x");
    await expect(traced.finally(() => {})).resolves.toBe(1);
    expect(collector.end("fn").outputs).toEqual({ outputs: 1 });
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

  test("at the end of a run is counted and never reaches the caller", async () => {
    const { records } = uncountedLosses;
    const collector = client();
    Object.assign(collector[recorder], {
      recordEnd: () => {
        throw new Error("recorder");
      },
    });
    expect(traceable((n: number) => n + 1, { client: collector })(1)).toBe(2);
    await expect(traceable(async () => 7, { client: collector })()).resolves.toBe(7);
    expect(uncountedLosses.records).toBe(records + 2);
  });

  test("without a client does not affect the call", () => {
    expect(traceable((n: number) => n + 1)(1)).toBe(2);
  });
});
