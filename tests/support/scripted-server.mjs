// A server in its own thread, so that the thread that calls it may block. In each request for projects, the
// filter `name` chooses the response: `slow-300` (delay in ms), `status-409`, `bytes-1000` (size), or an immediate one.
// `/seen` returns how many requests were received and how many were aborted.
import { createServer } from "node:http";
import { parentPort } from "node:worker_threads";

const counts = { received: 0, aborted: 0, names: [] };

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://host");
  if (pathname === "/seen") {
    response.end(JSON.stringify(counts));
    return;
  }
  if (pathname === "/info") {
    response.end(JSON.stringify({ version: "0.10.0" }));
    return;
  }
  const name = searchParams.get("name") ?? "";
  const [kind, number = ""] = name.split("-");
  counts.received += 1;
  counts.names.push(name);
  response.on("close", () => {
    counts.aborted += response.writableFinished ? 0 : 1;
  });
  const respond = () => {
    const description = "x".repeat(kind === "bytes" ? Number(number) : 0);
    const project = { id: "i", tenant_id: "t", name, start_time: "2026-01-01", description };
    const status = kind === "status" ? Number(number) : 200;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(status < 300 ? [project] : { detail: `no ${name}` }));
  };
  if (kind === "slow") {
    setTimeout(respond, Number(number));
  } else {
    request.resume().on("end", respond);
  }
});

server.listen(0, "127.0.0.1", () => parentPort?.postMessage(server.address()));
