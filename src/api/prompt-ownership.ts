import { ValidationError } from "../model/errors.ts";
import { hubPromptUrl, ownPromptUrl } from "../model/links.ts";
import type { PromptPage } from "../model/links.ts";
import { ownOwner } from "../model/prompt-identifier.ts";
import type { TenantSettings } from "../model/tenant.ts";
import type { CallOptions } from "./http.ts";
import type { Tenant } from "./tenant.ts";

/** Whose prompt it is that one call names. Asks for the tenant when it must know, and once at most. */
export class PromptOwnership {
  readonly #tenant: Tenant;
  readonly #signal: AbortSignal | undefined;
  #settings: Promise<TenantSettings> | undefined;

  constructor(tenant: Tenant, { signal }: CallOptions) {
    this.#tenant = tenant;
    this.#signal = signal;
  }

  settings(): Promise<TenantSettings> {
    this.#settings ??= this.#tenant.settings({ signal: this.#signal });
    return this.#settings;
  }

  async isOwn(owner: string): Promise<boolean> {
    return owner === ownOwner || owner === (await this.settings()).handle;
  }

  /**
   * The words are the specification's (section 5).
   *
   * @throws {@link ValidationError} the prompt is someone else's.
   */
  async assertOwn(action: string, owner: string): Promise<void> {
    if (!(await this.isOwn(owner))) {
      const { handle } = await this.settings();
      const current = handle === undefined ? "it has no handle" : `its handle is ${handle}`;
      throw new ValidationError(
        `Cannot ${action} for another tenant: ${owner} owns it, and of the current tenant ${current}`,
      );
    }
  }

  /** @throws {@link ValidationError} the prompt is to be public, and there is no handle for it to stand under. */
  async assertPublishable(isPublic: boolean | undefined): Promise<void> {
    if (isPublic === true && (await this.settings()).handle === undefined) {
      throw new ValidationError(
        "Cannot make a public prompt without a hub handle. Set one with client.tenant.setHandle, or make a first public prompt on the server's page",
      );
    }
  }

  /** The address of a page, which differs by whose the prompt is (specification, section 2). */
  async urlOf(page: PromptPage, host: string): Promise<string> {
    return (await this.isOwn(page.owner))
      ? ownPromptUrl(host, page, (await this.settings()).id)
      : hubPromptUrl(host, page);
  }
}
