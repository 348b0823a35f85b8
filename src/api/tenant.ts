import { assertHandle } from "../model/resources/prompt-identifier.ts";
import { parseTenantSettings } from "../model/resources/tenant.ts";
import type { TenantSettings } from "../model/resources/tenant.ts";
import type { Call, CallOptions } from "./http/http.ts";
import { callOptionKeys } from "./http/known-arguments.ts";
import type { CallTable } from "./http/known-arguments.ts";

/** The tenant that the client's API key belongs to. */
export class Tenant {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * Reads the settings of the tenant.
   *
   * @throws {@link HttpError} if the server refuses the API key.
   */
  async settings({ signal }: CallOptions = {}): Promise<TenantSettings> {
    return parseTenantSettings(await this.#call("readSettings", { signal }));
  }

  /**
   * Sets the handle: the owner name in the identifiers of the tenant's public prompts. Repeating the call has
   * no further effect.
   *
   * @throws {@link ValidationError} if the handle is malformed.
   * @throws {@link ConflictError} if another tenant has the handle.
   */
  async setHandle(handle: string, { signal }: CallOptions = {}): Promise<TenantSettings> {
    assertHandle(handle);
    const json = { tenant_handle: handle };
    return parseTenantSettings(
      await this.#call("setTenantHandle", { json, signal, repeatable: true }),
    );
  }
}

/** The option names that each method accepts. */
export const tenantCalls: CallTable<Tenant> = {
  settings: { args: [callOptionKeys] },
  setHandle: { args: [null, callOptionKeys] },
};
