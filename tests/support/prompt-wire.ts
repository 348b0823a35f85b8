import { HttpResponse, http as on } from "msw";
import type { HttpHandler, JsonBodyType } from "msw";
import { PromptCache } from "../../src/api/prompts/prompt-cache.ts";
import { Prompts } from "../../src/api/prompts/prompts.ts";
import { Tenant } from "../../src/api/tenant.ts";
import { PromptCounts } from "../../src/model/records/prompt-counts.ts";
import { createTestHttp } from "./api.ts";
import type { MswServer } from "./msw-server.ts";

export const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
export const hash = "0123456789abcdef".repeat(4);
export const older = "fedcba9876543210".repeat(4);
export const manifest = { lc: 1, type: "constructor" };
export const time = "2026-11-21T10:11:12Z";
export const wirePrompt = {
  id,
  tenant_id: "t",
  owner: null,
  repo_handle: "r",
  full_name: "-/r",
  description: null,
  readme: null,
  tags: ["x"],
  is_public: false,
  is_archived: false,
  created_at: time,
  updated_at: time,
  num_likes: 3,
  num_downloads: 2,
  num_views: 1,
  num_commits: 0,
  liked_by_auth_user: true,
  last_commit_hash: null,
};
export const wireTag = {
  id,
  repo_id: id,
  commit_id: id,
  commit_hash: hash,
  tag_name: "prod",
  created_at: time,
  updated_at: time,
};

export const promptsAt = (endpoint: string): Prompts => {
  const { call } = createTestHttp(endpoint).http;
  const cache = new PromptCache({
    ttlMs: 60_000,
    waitMs: 5_000,
    maxPrompts: 100,
    maxBytes: 1_000_000,
    snapshots: undefined,
    counts: new PromptCounts(),
    warn: () => undefined,
  });
  return new Prompts(call, { host: "http://host.test", tenant: new Tenant(call), cache });
};

export const json = (body: JsonBodyType, status = 200) => HttpResponse.json(body, { status });

export const settings = (handle: string | null = null): HttpHandler =>
  on.get("*/settings", () =>
    json({ id: "t&1", display_name: "T", created_at: time, tenant_handle: handle }),
  );
export const info = (version: string): HttpHandler => on.get("*/info", () => json({ version }));
export const repo = on.get("*/repos/:owner/:repo", () => json({ repo: wirePrompt }));
export const noRepo = on.get("*/repos/:owner/:repo", () => json({ detail: "no such repo" }, 404));
export const commits = (...hashes: readonly string[]): HttpHandler =>
  on.get("*/commits/:owner/:repo", () =>
    json({ commits: hashes.map((commit_hash) => ({ id, commit_hash })), total: hashes.length }),
  );
export const commit = on.get("*/commits/:owner/:repo/:commit", () =>
  json({ commit_hash: hash, manifest, examples: [] }),
);
export const createdCommit = on.post("*/commits/:owner/:repo", () =>
  json({ commit_hash: hash, commit: { id, commit_hash: hash, parent_commit_hash: older } }),
);

export const targetsOf = ({ requests }: MswServer): readonly string[] =>
  requests.map(({ target }) => target);
