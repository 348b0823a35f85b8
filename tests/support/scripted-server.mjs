// A server in a thread of its own, so that the thread that asks it may block. Each request for projects
// says by its filter `name` how it is answered: `slow-300`, `status-409`, `bytes-1000`, or at once. `/seen`
// tells how many were asked for and how many were broken off.
import { createServer } from "node:http";
import { parentPort } from "node:worker_threads";

const seen = { asked: 0, brokenOff: 0, names: [] };

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://host");
  if (pathname === "/seen") {
    response.end(JSON.stringify(seen));
    return;
  }
  if (pathname === "/info") {
    response.end(JSON.stringify({ version: "0.10.0" }));
    return;
  }
  const name = searchParams.get("name") ?? "";
  const [kind, number = ""] = name.split("-");
  seen.asked += 1;
  seen.names.push(name);
  response.on("close", () => {
    seen.brokenOff += response.writableFinished ? 0 : 1;
  });
  const answer = () => {
    const description = "x".repeat(kind === "bytes" ? Number(number) : 0);
    const project = { id: "i", tenant_id: "t", name, start_time: "2026-01-01", description };
    const status = kind === "status" ? Number(number) : 200;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(status < 300 ? [project] : { detail: `no ${name}` }));
  };
  if (kind === "slow") {
    setTimeout(answer, Number(number));
  } else {
    request.resume().on("end", answer);
  }
});

server.listen(0, "127.0.0.1", () => parentPort?.postMessage(server.address()));
