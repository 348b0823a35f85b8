import { ValidationError } from "./errors.ts";
import { isUuid } from "./ids.ts";
import type { PromptPath } from "./resources/prompt-identifier.ts";

/**
 * Derives the base URL of the UI from the API endpoint. Removes the API's path, such as `/api/v1`, and `api.` at the
 * beginning of the host name or after a region (`eu.api.`).
 */
export function toUiUrl(endpoint: string): string {
  const url = new URL(endpoint);
  const path = url.pathname.replace(/\/+$/, "").replace(/\/api(?:\/v\d+)?$/, "");
  // The remaining host name must have at least two parts: `api.com` does not become `com`.
  const host = url.host.replace(/^([^.]+\.)?api\.(?=[^.]+\.[^.])/, "$1");
  return `${url.protocol}//${host}${path}`;
}

/** The ids in the URL of a project's page. */
export interface ProjectPath {
  readonly tenantId: string;
  readonly projectId: string;
}

/** Creates the URL of a project's page. */
export const createProjectUrl = (host: string, { tenantId, projectId }: ProjectPath): string =>
  `${host}/o/${encodeURIComponent(tenantId)}/projects/p/${encodeURIComponent(projectId)}`;

/** The ids in the URL of a run's page. */
export interface RunPath extends ProjectPath {
  readonly traceId: string;
  readonly runId: string;
}

/** Creates the URL of a run: the page of its project, with the run selected in its trace. */
export const createRunUrl = (host: string, path: RunPath): string =>
  `${createProjectUrl(host, path)}?${new URLSearchParams({ trace: path.traceId, run: path.runId }).toString()}`;

/** Creates the URL of a shared run's page. `token` is the token of the share. */
export const createSharedRunUrl = (host: string, token: string): string =>
  `${host}/public/${encodeURIComponent(token)}/r`;

/** The ids in the URL of a dataset's page. */
export interface DatasetAddress {
  readonly tenantId: string;
  readonly datasetId: string;
}

/** Creates the URL of a dataset's page. */
export const createDatasetUrl = (host: string, { tenantId, datasetId }: DatasetAddress): string =>
  `${host}/o/${encodeURIComponent(tenantId)}/datasets/${encodeURIComponent(datasetId)}`;

/** Creates the URL of a shared dataset's page. `token` is the token of the share. */
export const createSharedDatasetUrl = (host: string, token: string): string =>
  `${host}/public/${encodeURIComponent(token)}/d`;

/**
 * Extracts the token from the URL of a shared page: the path segment at position `fromEnd`, counted from the end of the
 * path, where 1 is the last segment. A token without a URL is returned unchanged.
 *
 * @throws {@link ValidationError} if there is no such segment, or the text is not a URL.
 */
export function extractShareToken(
  urlOrToken: unknown,
  { resource, fromEnd = 2 }: { readonly resource: string; readonly fromEnd?: number },
): string {
  if (isUuid(urlOrToken)) {
    return urlOrToken;
  }
  const text = typeof urlOrToken === "string" ? urlOrToken : "";
  const path = URL.canParse(text) ? new URL(text).pathname : "";
  // Drop empty segments, so that a trailing slash makes no difference.
  const segments = path.split("/").filter((segment) => segment !== "");
  const token = segments.at(-fromEnd) ?? "";
  if (token === "") {
    throw new ValidationError(
      `Invalid public ${resource} URL or token: it is neither a UUID nor a URL with the token in its path. Pass the url or the shareToken that sharing the ${resource} returned`,
    );
  }
  return token;
}

/** Number of characters of a commit's hash in the URL of a prompt's page. */
const shownHashLength = 8;

/** The prompt or commit that a page shows. */
export interface PromptPage extends PromptPath {
  /** The commit's hash or its first characters. If absent, the page shows the prompt itself. */
  readonly commitHash?: string | undefined;
}

const formatPromptPath = ({ repo, commitHash }: Omit<PromptPage, "owner">): string =>
  encodeURIComponent(repo) +
  (commitHash === undefined ? "" : `/${encodeURIComponent(commitHash.slice(0, shownHashLength))}`);

/** Creates the URL of a prompt of the caller's own tenant. */
export const createOwnPromptUrl = (
  host: string,
  page: Omit<PromptPage, "owner">,
  tenantId: string,
): string =>
  `${host}/prompts/${formatPromptPath(page)}?${new URLSearchParams({ organizationId: tenantId }).toString()}`;

/** Creates the prompt hub's URL for a prompt of another tenant. */
export const createHubPromptUrl = (host: string, page: PromptPage): string =>
  `${host}/hub/${encodeURIComponent(page.owner)}/${formatPromptPath(page)}`;
