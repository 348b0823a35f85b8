import { expect, test } from "vitest";
import { ended, start } from "./support/command.ts";

const store = "postgres://u:hunter2@127.0.0.1:1/d";

test.each([
  [[], {}, "millrace work needs the database of the servers: pass --store (MILLRACE_STORE_URL)"],
  [[], { MILLRACE_LOG: "nats://a" }, "millrace work needs the database of the servers"],
  [["--log", "nats://a"], { MILLRACE_STORE_URL: "mysql://u:hunter2@a/b" }, "--store (MILLRACE"],
  [["--store", store], { MILLRACE_LOG: "http://u:hunter2@a" }, "--log (MILLRACE_LOG) must be"],
  [["--store", store, "--log", "nats://a", "--port", "x"], {}, "--port (MILLRACE_WORK_PORT) must"],
  [["--store", store, "--log", "nats://a"], { MILLRACE_WORK_PORT: "70000" }, "--port (MILLRACE"],
] as const)("work %j %j says what is wrong, with exit code 2", async (args, env, message) => {
  const { code, errors } = await ended(start(["work", ...args], env));
  expect(code).toBe(2);
  expect(errors).toContain(message);
  expect(errors).not.toContain("hunter2");
});
