import { HttpError, NotFoundError } from "../model/errors.ts";
import type { CallOptions } from "./http/http.ts";
import type { Projects } from "./projects.ts";
import type { Tenant } from "./tenant.ts";

/** Finds the id of the tenant that the client's API key belongs to. URLs of the UI contain this id. */
export class TenantIds {
  readonly #tenant: Tenant;
  readonly #projects: Projects;
  #tenantId: string | undefined;

  constructor(tenant: Tenant, projects: Projects) {
    this.#tenant = tenant;
    this.#projects = projects;
  }

  /**
   * Reads the id from the tenant's settings or, if the server refuses the request for the settings, from a project. The
   * result is cached.
   *
   * @throws {@link NotFoundError} if neither the settings nor a project is available:
   * `No projects found to resolve tenant.`
   */
  async readOwnId({ signal }: CallOptions): Promise<string> {
    this.#tenantId ??=
      (await this.#readFromSettings(signal)) ?? (await this.#readFromProject(signal));
    return this.#tenantId;
  }

  async #readFromSettings(signal: AbortSignal | undefined): Promise<string | undefined> {
    try {
      return (await this.#tenant.settings({ signal })).id;
    } catch (error) {
      if (error instanceof HttpError) {
        return undefined;
      }
      throw error;
    }
  }

  async #readFromProject(signal: AbortSignal | undefined): Promise<string> {
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
