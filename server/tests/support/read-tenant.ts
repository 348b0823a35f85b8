import { listProbes, maskResponse, serverChosen } from "./tenant-story.ts";
import type { Names, SendRequest } from "./tenant-story.ts";

/** Requests that only read although their method is not GET. */
const reads: ReadonlySet<string> = new Set([
  "POST /runs/query",
  "POST /runs/stats",
  "POST /datasets/:id/search",
  "POST /datasets/:id/runs",
  "POST /ui/runs/search",
  "POST /ui/datasets/:id/comparison",
  "POST /api/v2/runs/query",
  "POST /api/v2/threads/query",
  "POST /api/v2/traces/query",
  "POST /api/v2/threads/stats",
  "POST /api/v2/datasets/:id/experiment-runs",
]);

/** Everything that a tenant reads under its names, one text per request. */
export async function readAll(send: SendRequest, names: Names, mark: string) {
  const chosen = new Set(serverChosen.map((name) => names[name]));
  const kept = new Set(Object.values<string>({ ...names }).filter((name) => !chosen.has(name)));
  const asked = Object.entries(listProbes({ ...names, owner: "-" })).flatMap(([route, probes]) =>
    route.startsWith("GET ") || reads.has(route)
      ? probes.map((probe) => ({ ...probe, method: String(route.split(" ")[0]) }))
      : [],
  );
  const responses = await Promise.all(
    asked.map(async ({ method, path, ...probe }) => {
      const { status, text } = maskResponse(await send(`${method} ${path}`, probe), kept);
      const name = `${method} ${path} ${JSON.stringify(probe.body ?? "")}`;
      const shown = text
        .replaceAll(mark, "<mark>")
        .replaceAll(/"(?:me|you)(["/])/g, '"<owner>$1')
        .replaceAll(/[\da-f]{64}|[\da-f]{40}/g, "<hash>")
        // These counts cover the whole database, or count how often a prompt was read.
        .replaceAll(/"(mark|num_downloads|num_views)":\d+/g, '"$1":0');
      const comparable = serverChosen.reduce(
        (request, chosenName) => request.replaceAll(names[chosenName], `<${chosenName}>`),
        name,
      );
      return [comparable, [status, shown]] as const;
    }),
  );
  return Object.fromEntries(responses);
}
