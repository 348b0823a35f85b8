import { assertHandle } from "../model/resources/prompt-identifier.ts";
import { parseTenantSettings } from "../model/resources/tenant.ts";
import type { TenantSettings } from "../model/resources/tenant.ts";
import type { Call, CallOptions } from "./http/http.ts";

/** The tenant that the client's key belongs to. */
export class Tenant {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /** @throws {@link HttpError} the key is not let in. */
  async settings({ signal }: CallOptions = {}): Promise<TenantSettings> {
    return parseTenantSettings(await this.#call("readSettings", { signal }));
  }

  /**
   * Sets the name that its public prompts stand under. Repeating it changes nothing more.
   *
   * @throws {@link ValidationError} the handle can't be one.
   * @throws {@link ConflictError} another tenant has it.
   */
  async setHandle(handle: string, { signal }: CallOptions = {}): Promise<TenantSettings> {
    assertHandle(handle);
    const json = { tenant_handle: handle };
    return parseTenantSettings(
      await this.#call("setTenantHandle", { json, signal, repeatable: true }),
    );
  }
}
