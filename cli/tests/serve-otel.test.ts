import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { addressOf, ended, firstLine, folder, start } from "./support/command.ts";

test("a server that sends its spans to itself stores them, and records no span of that", async () => {
  const forwarder = await startForwarder();
  const server = start(["serve", "--port", "0", "--data", await folder()], {
    MILLRACE_OTEL_ENDPOINT: `${forwarder.url}/otel`,
    OTEL_BSP_SCHEDULE_DELAY: "20",
    OTEL_EXPORTER_OTLP_HEADERS: "Langsmith-Project=own",
  });
  const url = addressOf(await firstLine(server));
  forwarder.forwardTo(Number(new URL(url).port));
  const end = ended(server);
  const countStored = async (name: string): Promise<number> => {
    const sessions = (await (await fetch(`${url}/sessions?name=own`)).json()) as readonly {
      readonly id: string;
    }[];
    if (sessions[0] === undefined) {
      return 0;
    }
    const response = await fetch(`${url}/runs/query`, {
      method: "POST",
      body: JSON.stringify({
        session: [sessions[0].id],
        filter: `eq(name, "${name}")`,
        select: ["name"],
      }),
    });
    const { runs } = (await response.json()) as { readonly runs: readonly unknown[] };
    return runs.length;
  };
  await (await fetch(`${url}/datasets`)).text();
  await expect.poll(() => countStored("GET /datasets")).toBe(1);
  await expect.poll(() => countStored("read datasets.list")).toBe(1);
  // The spans of other programs are recorded as all requests are. Once this one is stored, so are those before it.
  await fetch(`${url}/otel/v1/traces`, { method: "POST", body: '{"resourceSpans":[]}', headers });
  await expect.poll(() => countStored("POST /otel/v1/traces")).toBe(1);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const exported = /^millrace_own_spans_total\{outcome="exported"\} (\d+)$/m.exec(metrics)?.[1];
  expect(Number(exported)).toBeGreaterThan(3);
  expect(metrics).toContain('millrace_own_spans_total{outcome="dropped"} 0');
  expect(await countStored("POST /otel/v1/traces")).toBe(1);
  server.kill("SIGTERM");
  expect((await end).code).toBe(0);
});

const headers = { "content-type": "application/json" };

test("an endpoint with a password is refused without showing it", async () => {
  const { code, errors } = await ended(
    start(["serve", "--otel-endpoint", "http://user:topsecret@collector:4318"]),
  );
  expect(code).toBe(2);
  expect(errors).toMatch(
    /^error: --otel-endpoint \(MILLRACE_OTEL_ENDPOINT\) must be an http or https URL without a login/,
  );
  expect(errors).not.toContain("topsecret");
});

/** Forwards connections to a port that is named later, so that a server can be started with its own address. */
async function startForwarder(): Promise<{
  readonly url: string;
  forwardTo(port: number): void;
}> {
  let target = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const outgoing = connect(target, "127.0.0.1");
    for (const [from, to] of [
      [socket, outgoing],
      [outgoing, socket],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    forwardTo: (newTarget) => {
      target = newTarget;
    },
  };
}
