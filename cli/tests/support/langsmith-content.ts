import { workspaceId } from "./fake-langsmith.ts";
import type { LangsmithContent } from "./fake-langsmith.ts";

const toId = (kind: number, n = 0): string =>
  `${String(kind).repeat(8)}-0000-4000-8000-${String(n).padStart(12, "0")}`;

/** Ids of rows that tests look at. */
export const ids = {
  project: toId(1),
  experiment: toId(1, 1),
  dataset: toId(2),
  example: toId(3),
  root: toId(4),
  call: toId(4, 1),
  otherTenant: toId(9),
};

/** A time without a zone, as the platform returns it. */
const toTime = (seconds: number, micros = 0): string =>
  new Date(Date.UTC(2024, 4, 1, 10, 0, seconds))
    .toISOString()
    .replace(/\.\d+Z$/, `.${String(micros).padStart(6, "0")}`);

const toStamp = (time: string): string => `${time.replaceAll(/[-:.]/g, "")}Z`;

const rootTime = toTime(0, 1);
const rootOrder = toStamp(rootTime) + ids.root;
const prompt = (text: string) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "prompts", "prompt", "PromptTemplate"],
  kwargs: { template: text, input_variables: ["name"], template_format: "f-string" },
});

/** The address of a file of the fake. Addresses of the platform are absolute; these are below the fake's own. */
const fileUrl = (name: string): string => `/files/${name}?X-Signature=hidden`;

/** A workspace with one of everything, and `more` further runs, each with feedback, and as many examples. */
export function createContent(more = 0): LangsmithContent {
  const numbers = Array.from({ length: more }, (_, n) => n + 10);
  return {
    projects: [
      createProject({ id: ids.project, name: "support", description: "Calls", extra: { a: 1 } }),
      createProject({
        id: ids.experiment,
        name: "questions-1",
        reference_dataset_id: ids.dataset,
        end_time: toTime(60),
      }),
    ],
    runs: [
      createRun({
        id: ids.root,
        name: "answer",
        start_time: rootTime,
        end_time: toTime(3),
        inputs: null,
        inputs_s3_urls: { ROOT: { presigned_url: fileUrl("inputs.json") } },
        outputs: { a: 1 },
        tags: ["prod"],
        extra: { metadata: { plan: "pro" } },
        dotted_order: rootOrder,
      }),
      createRun({
        id: ids.call,
        name: "call",
        run_type: "llm",
        trace_id: ids.root,
        parent_run_id: ids.root,
        start_time: toTime(1, 123_456),
        end_time: toTime(2),
        first_token_time: toTime(1, 500_000),
        inputs: { q: 1 },
        error: "RateLimitError",
        extra: { metadata: { ls_model_name: "gpt-4o" }, runtime: { sdk: "langsmith" } },
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_cost: "0.001",
        completion_cost: "0.002",
        total_cost: "0.003",
        dotted_order: `${rootOrder}.${toStamp(toTime(1, 123_456))}${ids.call}`,
        s3_urls: {
          "attachment.photo": { presigned_url: fileUrl("photo"), mime_type: "image/png" },
          "attachment.gone": { presigned_url: fileUrl("gone"), mime_type: "image/png" },
        },
      }),
      createRun({
        id: toId(4, 2),
        name: "experiment run",
        session_id: ids.experiment,
        start_time: toTime(50),
        end_time: toTime(51),
        reference_example_id: ids.example,
      }),
      ...numbers.map((n) =>
        createRun({
          id: toId(4, n),
          name: `run ${n}`,
          start_time: toTime(n),
          end_time: toTime(n + 1),
        }),
      ),
    ],
    datasets: [
      {
        id: ids.dataset,
        name: "questions",
        description: "Why?",
        data_type: "kv",
        tenant_id: workspaceId,
        created_at: toTime(0),
        modified_at: toTime(5),
        session_count: 1,
        metadata: { owner: "me" },
      },
    ],
    versions: [
      { dataset_id: ids.dataset, as_of: toTime(5), tags: ["latest", "prod"] },
      { dataset_id: ids.dataset, as_of: toTime(4), tags: ["old"] },
    ],
    examples: [
      createExample({
        id: ids.example,
        inputs: { q: "Why?" },
        outputs: { a: "So." },
        metadata: { dataset_split: ["test", "hard"], level: 1 },
        source_run_id: ids.root,
        attachment_urls: {
          "attachment.photo": { presigned_url: fileUrl("photo"), mime_type: "image/png" },
        },
      }),
      ...numbers.map((n) => createExample({ id: toId(3, n), inputs: { n } })),
    ],
    feedback: [
      createFeedback({ id: toId(5), run_id: ids.call, score: 0.5, comment: "fine" }),
      createFeedback({
        id: toId(5, 1),
        key: "overall",
        run_id: null,
        value: "good",
        feedback_source: { type: "app", metadata: { m: 1 }, user_name: "Ada" },
      }),
      ...numbers.map((n) => createFeedback({ id: toId(5, n), run_id: toId(4, n), score: true })),
    ],
    repos: [
      createRepo({ repo_handle: "greeting", description: "Says hello", tags: ["hello"] }),
      createRepo({ repo_handle: "old", is_archived: true }),
      createRepo({ repo_handle: "public", tenant_id: ids.otherTenant, is_public: true }),
    ],
    commits: [
      createCommit({
        repo: "greeting",
        commit_hash: "bbbb2222",
        manifest: prompt("Hello {name}!"),
      }),
      createCommit({
        repo: "greeting",
        commit_hash: "aaaa1111",
        description: "First",
        manifest: prompt("Hi {name}!"),
      }),
      createCommit({ repo: "old", commit_hash: "cccc3333", manifest: prompt("{name}") }),
    ],
    tags: [
      {
        repo: "greeting",
        id: toId(7),
        repo_id: toId(8),
        commit_id: toId(7),
        commit_hash: "aaaa1111",
        tag_name: "prod",
        created_at: toTime(0),
        updated_at: toTime(0),
      },
    ],
    files: {
      photo: Buffer.from("PNG"),
      "inputs.json": Buffer.from('{"question":"Why?"}'),
    },
  };
}

const createProject = (project: Readonly<Record<string, unknown>>) => ({
  tenant_id: workspaceId,
  start_time: toTime(0),
  end_time: null,
  extra: null,
  description: null,
  reference_dataset_id: null,
  ...project,
});

const createRun = (run: Readonly<Record<string, unknown>>) => ({
  run_type: "chain",
  session_id: ids.project,
  status: "success",
  inputs: { q: 1 },
  outputs: null,
  error: null,
  extra: {},
  events: [],
  serialized: null,
  parent_run_id: null,
  trace_id: run["id"],
  dotted_order: toStamp(String(run["start_time"])) + String(run["id"]),
  tags: null,
  reference_example_id: null,
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  ...run,
});

const createExample = (example: Readonly<Record<string, unknown>>) => ({
  dataset_id: ids.dataset,
  name: "#1",
  created_at: toTime(1),
  outputs: null,
  metadata: null,
  source_run_id: null,
  attachment_urls: null,
  ...example,
});

const createFeedback = (feedback: Readonly<Record<string, unknown>>) => ({
  key: "quality",
  session_id: ids.project,
  score: null,
  value: null,
  comment: null,
  correction: null,
  created_at: `${toTime(9)}Z`,
  modified_at: `${toTime(9)}Z`,
  feedback_source: { type: "api", metadata: {} },
  ...feedback,
});

const createRepo = (repo: Readonly<Record<string, unknown>>) => ({
  id: toId(8),
  tenant_id: workspaceId,
  description: null,
  readme: null,
  created_at: toTime(0),
  updated_at: toTime(0),
  is_public: false,
  is_archived: false,
  tags: [],
  repo_type: "prompt",
  owner: null,
  full_name: `-/${String(repo["repo_handle"])}`,
  num_likes: 0,
  num_downloads: 0,
  num_views: 0,
  num_commits: 1,
  ...repo,
});

const createCommit = (commit: Readonly<Record<string, unknown>>) => ({
  id: toId(7),
  created_at: toTime(0),
  description: "",
  ...commit,
});
