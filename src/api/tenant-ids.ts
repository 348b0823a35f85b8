import { HttpError, NotFoundError } from "../model/errors.ts";
import type { CallOptions } from "./http/http.ts";
import type { Projects } from "./projects.ts";
import type { Tenant } from "./tenant.ts";

/** Whose the key of a client is, which addresses of pages hold. */
export class TenantIds {
  readonly #tenant: Tenant;
  readonly #projects: Projects;
  #own: string | undefined;

  constructor(tenant: Tenant, projects: Projects) {
    this.#tenant = tenant;
    this.#projects = projects;
  }

  /**
   * Read from the server's settings; where it has none, from a project. Requested once.
   *
   * @throws {@link NotFoundError} `No projects found to resolve tenant.` (specification, section 8).
   */
  async own({ signal }: CallOptions): Promise<string> {
    this.#own ??= (await this.#ofSettings(signal)) ?? (await this.#ofProjects(signal));
    return this.#own;
  }

  async #ofSettings(signal: AbortSignal | undefined): Promise<string | undefined> {
    try {
      return (await this.#tenant.settings({ signal })).id;
    } catch (error) {
      if (error instanceof HttpError) {
        return undefined;
      }
      throw error;
    }
  }

  async #ofProjects(signal: AbortSignal | undefined): Promise<string> {
    const [project] = await this.#projects.list({ limit: 1, signal }).toArray();
    if (project === undefined) {
      throw new NotFoundError({
        action: "resolve tenant",
        status: 404,
        body: "",
        message:
          "No projects found to resolve tenant. Create one with client.projects.create({ name }), and check the endpoint and the key",
      });
    }
    return project.tenantId;
  }
}
