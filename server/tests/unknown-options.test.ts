import { OptionError } from "millrace/model";
import { expect, test } from "vitest";
import { startServer } from "../src/index.ts";

test.each([
  [{ dataDirectory: "/nowhere" }, "known: port, host, dataDir"],
  [{ apiKey: "secret" }, "did you mean `apiKeys`?"],
  [{ Port: 0 }, "did you mean `port`?"],
])("a server with %j does not start", async (options, advice) => {
  const start = startServer({ ...options, dataDir: ":memory:" });
  await expect(start).rejects.toBeInstanceOf(OptionError);
  await expect(start).rejects.toThrow(
    `startServer: unknown option \`${Object.keys(options)[0]}\`; `,
  );
  await expect(start).rejects.toThrow(advice);
});
