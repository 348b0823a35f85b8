import { startFakeApi } from "./fake-api.ts";
import type { FakeApi, FakeRequest, FakeRoute } from "./fake-api.ts";

type Json = Readonly<Record<string, unknown>>;

/** The content of a fake of LangSmith. */
export interface LangsmithContent {
  readonly projects: readonly Json[];
  readonly runs: readonly Json[];
  readonly datasets: readonly Json[];
  /** The versions of each dataset, newest first. */
  readonly versions: readonly Json[];
  readonly examples: readonly Json[];
  readonly feedback: readonly Json[];
  readonly repos: readonly Json[];
  /** The commits of all prompts, newest first; `repo` names the prompt. */
  readonly commits: readonly Json[];
  readonly tags: readonly Json[];
  readonly files: Readonly<Record<string, Buffer>>;
}

export const apiKey = "lsv2_pt_secret";
export const workspaceId = "11111111-1111-4111-8111-111111111111";

/** Starts a fake of LangSmith. Like the platform, it answers with and without the prefix `/api/v1`. */
export const startFakeLangsmith = (
  content: LangsmithContent,
  { checksSchemas = true }: { readonly checksSchemas?: boolean } = {},
): Promise<FakeApi> =>
  startFakeApi({
    checksSchemas,
    fixture: "langsmith-api.json",
    hasKey: (headers) => headers["x-api-key"] === apiKey,
    isOpen: (path) => path.endsWith("/info") || path.startsWith("/files/"),
    routes: createRoutes(content),
  });

const route = (
  operation: string,
  respond: FakeRoute["respond"],
  pattern = operation.replace(/^\w+ (?:\/api\/v1)?/, "").replaceAll(/\{\w+\}/g, "([^/]+)"),
): FakeRoute => ({
  operation,
  method: operation.startsWith("POST") ? "POST" : "GET",
  path: new RegExp(`^(?:/api/v1)?${pattern}$`),
  respond,
});

function toPage(rows: readonly Json[], { query }: FakeRequest): readonly Json[] {
  const [offset, limit] = [Number(query.get("offset") ?? 0), Number(query.get("limit") ?? 100)];
  if (limit > 100) {
    throw new Error(`a limit of ${limit} is refused`);
  }
  return rows.slice(offset, offset + limit);
}

function createRoutes(content: LangsmithContent): readonly FakeRoute[] {
  const { projects, runs, datasets, versions, examples, feedback, repos, commits } = content;
  return [
    route("GET /api/v1/info", () => ({ version: "0.13.0", instance_flags: {} })),
    route("GET /api/v1/settings", () => ({
      id: workspaceId,
      display_name: "Workspace",
      created_at: "2024-01-01T00:00:00",
      tenant_handle: null,
    })),
    route("GET /api/v1/sessions", (request) => {
      const name = request.query.get("name");
      return toPage(
        projects.filter((project) => name === null || project["name"] === name),
        request,
      );
    }),
    route("POST /api/v1/runs/query", ({ body }) => queryRuns(runs, body as Json)),
    route("GET /api/v1/datasets", (request) => toPage(datasets, request)),
    route("GET /api/v1/datasets/{dataset_id}/versions", (request) =>
      toPage(
        versions
          .filter(({ dataset_id }) => dataset_id === request.params[0])
          .map(({ dataset_id: _, ...version }) => version),
        request,
      ),
    ),
    route("GET /api/v1/examples", (request) =>
      toPage(
        examples.filter(({ dataset_id }) => dataset_id === request.query.get("dataset")),
        request,
      ),
    ),
    route("GET /api/v1/feedback", (request) =>
      toPage(
        feedback.filter(
          ({ session_id, created_at }) =>
            session_id === request.query.get("session") &&
            String(created_at) <= (request.query.get("max_created_at") ?? "9"),
        ),
        request,
      ),
    ),
    route("GET /api/v1/repos", (request) => {
      const isArchived = request.query.get("is_archived") === "true";
      const found = repos.filter(({ is_archived }) => is_archived === isArchived);
      return { repos: toPage(found, request), total: found.length };
    }),
    route("GET /api/v1/repos/{owner}/{repo}/tags", ({ params: [, repo] }) =>
      content.tags.filter((tag) => tag["repo"] === repo).map(({ repo: _, ...tag }) => tag),
    ),
    route(
      "GET /commits/{owner}/{repo}",
      (request) => {
        const found = commits.filter((commit) => commit["repo"] === request.params[1]);
        return {
          commits: toPage(found, request).map(({ repo: _, manifest: __, ...commit }) => commit),
          total: found.length,
        };
      },
      "/commits/([^/]+)/([^/]+)/",
    ),
    route("GET /commits/{owner}/{repo}/{commit}", ({ params: [, repo, hash] }) => {
      const found = commits.find(
        (commit) => commit["repo"] === repo && commit["commit_hash"] === hash,
      );
      return found && { commit_hash: hash, manifest: found["manifest"] };
    }),
    {
      method: "GET",
      path: /^\/files\/(.+)$/,
      respond: ({ params: [name = ""] }) => content.files[name],
    },
  ];
}

/** Answers a query as the platform does: by start, with a cursor, and only with the selected fields. */
function queryRuns(runs: readonly Json[], body: Json): Json {
  const { session, limit, cursor, select, order, filter, start_time } = body as {
    readonly session: readonly string[];
    readonly limit: number;
    readonly cursor?: string;
    readonly select: readonly string[];
    readonly order: string;
    readonly filter: string;
    readonly start_time?: string;
  };
  const until = /^lt\(start_time, "(.+)"\)$/.exec(filter)?.[1];
  if (limit > 100 || order !== "asc" || until === undefined) {
    throw new Error(`an unexpected query: ${JSON.stringify(body)}`);
  }
  const found = runs
    .filter(({ session_id }) => session.includes(String(session_id)))
    .filter((run) => {
      const startMs = Date.parse(`${String(run["start_time"])}Z`);
      return startMs < Date.parse(until) && startMs >= Date.parse(start_time ?? "2000-01-01");
    })
    .toSorted((a, b) => String(a["start_time"]).localeCompare(String(b["start_time"])));
  const start = Number(cursor ?? 0);
  const end = start + limit;
  const required = ["id", "name", "run_type", "trace_id", "dotted_order", "status", "session_id"];
  return {
    runs: found.slice(start, end).map((run) => ({
      app_path: "/o/x",
      ...Object.fromEntries(
        [...required, ...select].filter((name) => name in run).map((name) => [name, run[name]]),
      ),
    })),
    cursors: { next: end < found.length ? String(end) : null },
  };
}
