import { ValidationError } from "./errors.ts";
import { isUuid } from "./ids.ts";
import type { PromptPath } from "./resources/prompt-identifier.ts";

// The addresses of pages (specification, section 2).

/**
 * Where a server's pages are: its address without the path of the API, and without `api.` at the head
 * of its name, or behind the name of a region (`eu.api.`).
 */
export function hostOf(endpoint: string): string {
  const url = new URL(endpoint);
  const path = url.pathname.replace(/\/+$/, "").replace(/\/api(?:\/v\d+)?$/, "");
  // What is left must be a name of at least two parts: that of api.com is not com.
  const host = url.host.replace(/^([^.]+\.)?api\.(?=[^.]+\.[^.])/, "$1");
  return `${url.protocol}//${host}${path}`;
}

export interface ProjectPath {
  readonly tenantId: string;
  readonly projectId: string;
}

export const projectUrl = (host: string, { tenantId, projectId }: ProjectPath): string =>
  `${host}/o/${encodeURIComponent(tenantId)}/projects/p/${encodeURIComponent(projectId)}`;

export interface RunPath extends ProjectPath {
  readonly traceId: string;
  readonly runId: string;
}

/** The page of a run is its project's, with the run selected in its trace. */
export const runUrl = (host: string, path: RunPath): string =>
  `${projectUrl(host, path)}?${new URLSearchParams({ trace: path.traceId, run: path.runId }).toString()}`;

export const sharedRunUrl = (host: string, token: string): string =>
  `${host}/public/${encodeURIComponent(token)}/r`;

export interface DatasetAddress {
  readonly tenantId: string;
  readonly datasetId: string;
}

export const datasetUrl = (host: string, { tenantId, datasetId }: DatasetAddress): string =>
  `${host}/o/${encodeURIComponent(tenantId)}/datasets/${encodeURIComponent(datasetId)}`;

export const sharedDatasetUrl = (host: string, token: string): string =>
  `${host}/public/${encodeURIComponent(token)}/d`;

/**
 * The token of a public address: the path segment `fromEnd` from its end. What is a token already
 * stays as it is.
 *
 * @throws {@link ValidationError} there is no such segment, or the text is no address.
 */
export function publicToken(
  urlOrToken: unknown,
  { what, fromEnd = 2 }: { readonly what: string; readonly fromEnd?: number },
): string {
  if (isUuid(urlOrToken)) {
    return urlOrToken;
  }
  const text = typeof urlOrToken === "string" ? urlOrToken : "";
  const path = URL.canParse(text) ? new URL(text).pathname : "";
  // Without empty ones: an address means the same with a slash at its end.
  const segments = path.split("/").filter((segment) => segment !== "");
  const token = segments.at(-fromEnd) ?? "";
  if (token === "") {
    throw new ValidationError(
      `Invalid public ${what} URL or token: it is neither a UUID nor an address with the token in its path. Give the url or the shareToken that sharing the ${what} returned`,
    );
  }
  return token;
}

/** A page of a prompt shows this much of a commit's hash (specification, section 9). */
const shownHashLength = 8;

export interface PromptPage extends PromptPath {
  /** Whole, or its beginning. Absent: the page of the prompt itself. */
  readonly commitHash?: string | undefined;
}

const promptPath = ({ repo, commitHash }: Omit<PromptPage, "owner">): string =>
  encodeURIComponent(repo) +
  (commitHash === undefined ? "" : `/${encodeURIComponent(commitHash.slice(0, shownHashLength))}`);

/** The page of a prompt of one's own. */
export const ownPromptUrl = (
  host: string,
  page: Omit<PromptPage, "owner">,
  tenantId: string,
): string =>
  `${host}/prompts/${promptPath(page)}?${new URLSearchParams({ organizationId: tenantId }).toString()}`;

/** The page of someone else's prompt. */
export const hubPromptUrl = (host: string, page: PromptPage): string =>
  `${host}/hub/${encodeURIComponent(page.owner)}/${promptPath(page)}`;
