import { describe, expect, test } from "vitest";
import { currentRun } from "../../src/tracing/runs/context.ts";
import { traceable } from "../../src/tracing/runs/traceable.ts";
import { CollectingClient } from "./collecting-client.ts";

const client = (): CollectingClient => new CollectingClient();

describe("processing", () => {
  test("of inputs and outputs happens once each, and only its result is recorded", async () => {
    const collector = client();
    let calls = 0;
    const ask = traceable(async (secret: string) => ({ secret }), {
      name: "ask",
      client: collector,
      processInputs: () => ({ hidden: ++calls }),
      processOutputs: () => ({ hidden: ++calls }),
    });
    await expect(ask("s3cr3t")).resolves.toEqual({ secret: "s3cr3t" });
    expect(calls).toBe(2);
    expect(collector.start("ask").inputs).toEqual({ hidden: 1 });
    expect(collector.end("ask").outputs).toEqual({ hidden: 2 });
  });

  test.each<[string, () => never]>([
    [
      "throws",
      () => {
        throw new Error("s3cr3t");
      },
    ],
    ["returns a promise", () => Promise.reject(new Error("s3cr3t")) as never],
    ["returns no object", () => "s3cr3t" as never],
    ["returns nothing", () => undefined as never],
  ])(
    "with a function that %s leaves a marker instead of the payload, and is counted",
    (_, process) => {
      const collector = client();
      const fn = traceable((secret: string) => secret, {
        name: "fn",
        client: collector,
        processInputs: process,
        processOutputs: process,
      });
      expect(fn("s3cr3t")).toBe("s3cr3t");
      expect(collector.start("fn").inputs).toEqual({
        millrace_error: "processInputs failed; inputs dropped",
      });
      expect(collector.end("fn").outputs).toEqual({
        millrace_error: "processOutputs failed; outputs dropped",
      });
      expect(collector.warnings.map(({ kind }) => kind)).toEqual([
        "hiddenFailure",
        "hiddenFailure",
      ]);
      expect(JSON.stringify([collector.records, collector.warnings])).not.toContain("s3cr3t");
    },
  );

  test("does not happen for an unsampled trace", () => {
    const collector = new CollectingClient({ isSampled: () => false });
    let calls = 0;
    const count = (payload: Readonly<Record<string, unknown>>): typeof payload => {
      calls += 1;
      return payload;
    };
    traceable(() => 1, { client: collector, processInputs: count, processOutputs: count })();
    expect([calls, collector.records.length]).toEqual([0, 0]);
  });

  test("of outputs removes the text of token events", () => {
    const collector = client();
    const fn = traceable(
      function* () {
        yield "s3cr3t";
      },
      { name: "fn", client: collector, recordTokens: true, processOutputs: () => ({}) },
    );
    expect([...fn()]).toEqual(["s3cr3t"]);
    expect(collector.end("fn").events).toHaveLength(1);
    expect(JSON.stringify(collector.records)).not.toContain("s3cr3t");
  });

  test("by the client removes the text of token events, but not events of the program", () => {
    const collector = new CollectingClient({ filtersOutputs: true });
    const fn = traceable(
      function* () {
        currentRun()?.addEvent({ name: "new_token", kwargs: { token: "mine" } });
        yield "s3cr3t";
      },
      { name: "fn", client: collector, recordTokens: true },
    );
    expect([...fn()]).toEqual(["s3cr3t"]);
    expect(collector.end("fn").events).toMatchObject([
      { name: "new_token", kwargs: { token: "mine" } },
      { name: "new_token", kwargs: {} },
    ]);
    expect(JSON.stringify(collector.end("fn").events)).not.toContain("s3cr3t");
  });
});
