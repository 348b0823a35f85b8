import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { createVitestProject, testImports as imports } from "../evaluation/vitest-project.ts";

test("if the server goes away, the tests pass, and a warning counts the results that it lacks", async () => {
  const server = await runServer();
  // A test of the project asks for the server's end.
  const control = createServer((_, response) => {
    void server.close().then(() => response.end());
  });
  control.listen(0, "127.0.0.1");
  await once(control, "listening");
  onTestFinished(() => {
    control.close();
  });
  const { port } = control.address() as AddressInfo;
  const project = await createVitestProject({
    "away.test.js": `${imports}
      describe("away", () => {
        test("a", { inputs: { a: 1 } }, async () => { await fetch("http://127.0.0.1:${port}"); });
        test("b", { inputs: { a: 2 } }, () => ({}));
      });`,
  });
  const { code, output } = await project.run([], { MILLRACE_ENDPOINT: server.url });
  expect({ code, output }).toMatchObject({ code: 0 });
  expect(output).toMatch(/away: 2 results are not on the server: .*ECONNREFUSED/);
});
