import { expect, test } from "vitest";
import { ModelKeys, sessionKeyMs } from "../model-keys.ts";

const holder = { tenantId: "t", session: "s", endpointName: "e" };

test("a key is found by its tenant, session and endpoint only, until it expires", () => {
  let nowMs = 0;
  const keys = new ModelKeys(() => nowMs);
  keys.set(holder, "k");
  expect(keys.find(holder)).toBe("k");
  for (const other of [{ tenantId: "u" }, { session: "x" }, { endpointName: "f" }]) {
    expect(keys.find({ ...holder, ...other })).toBeUndefined();
  }
  expect(keys.findExpiry(holder)).toBe(sessionKeyMs);
  nowMs = sessionKeyMs - 1;
  expect(keys.find(holder)).toBe("k");
  nowMs = sessionKeyMs;
  expect(keys.find(holder)).toBeUndefined();
});

test("a key that is entered again lives from then on, and a removed one is gone", () => {
  let nowMs = 0;
  const keys = new ModelKeys(() => nowMs);
  keys.set(holder, "k");
  nowMs = 1_000;
  keys.set(holder, "l");
  nowMs = sessionKeyMs + 500;
  expect(keys.find(holder)).toBe("l");
  keys.delete(holder);
  expect(keys.findExpiry(holder)).toBeUndefined();
});

test("too many keys of a tenant push out its oldest ones, and none of another tenant", () => {
  const keys = new ModelKeys();
  keys.set({ ...holder, tenantId: "other" }, "o");
  for (let index = 0; index < 300; index += 1) {
    keys.set({ ...holder, session: `s${index}` }, "k");
  }
  expect(keys.find({ ...holder, tenantId: "other" })).toBe("o");
  expect(keys.find({ ...holder, session: "s0" })).toBeUndefined();
  expect(keys.find({ ...holder, session: "s100" })).toBe("k");
});
