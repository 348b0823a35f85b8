import type { FastifyRequest } from "fastify";
import { isUuid } from "millrace/model";
import { RequestError } from "../errors.ts";
import { serverLimits } from "../options.ts";
import type { CatalogStore, Project, ProjectQuery } from "../store/run-store.ts";
import { toIso } from "../view/run-json.ts";

type QueryString = Readonly<Record<string, string | readonly string[] | undefined>>;

/** `GET /sessions?name&name_contains&id&limit&offset`. */
export async function listProjects(store: CatalogStore, request: FastifyRequest): Promise<unknown> {
  const projects = await store.listProjects(parseProjectQuery(request.query as QueryString));
  return projects.map(toProjectJson);
}

/** `GET /sessions/{id}`. */
export async function readProject(store: CatalogStore, request: FastifyRequest): Promise<unknown> {
  const { id } = request.params as { readonly id: string };
  const project = await store.findProject(parseProjectId(id));
  if (project === undefined) {
    throw new RequestError(404, "Session not found");
  }
  return toProjectJson(project);
}

function parseProjectId(id: unknown): string {
  if (isUuid(id)) {
    return id.toLowerCase();
  }
  throw new RequestError(422, `session id is not a UUID: ${JSON.stringify(id).slice(0, 80)}`);
}

const toProjectJson = ({ id, tenantId, name, startMicros }: Project) => ({
  id,
  tenant_id: tenantId,
  name,
  start_time: toIso(startMicros),
  end_time: null,
  description: null,
  extra: null,
  reference_dataset_id: null,
  default_dataset_id: null,
});

function parseProjectQuery(query: QueryString): ProjectQuery {
  const name = first(query["name"]);
  const nameContains = first(query["name_contains"]);
  const ids = [query["id"] ?? []].flat();
  return {
    limit: parseCount(query, "limit", {
      fallback: serverLimits.projectsDefault,
      max: serverLimits.projectsMax,
    }),
    offset: parseCount(query, "offset", { fallback: 0, max: Number.MAX_SAFE_INTEGER }),
    ...(name === undefined ? {} : { name }),
    ...(nameContains === undefined ? {} : { nameContains }),
    ...(ids.length === 0 ? {} : { ids: ids.map((id) => id.toLowerCase()) }),
  };
}

const first = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === "string" ? value : value?.[0];

function parseCount(
  query: QueryString,
  name: string,
  { fallback, max }: { fallback: number; max: number },
): number {
  const text = first(query[name]);
  const count = text === undefined || text === "" ? fallback : Number(text);
  if (!Number.isSafeInteger(count) || count < 0 || count > max) {
    throw new RequestError(
      422,
      `${name} is a whole number from 0 to ${max}, not ${JSON.stringify(text)}`,
    );
  }
  return count;
}
