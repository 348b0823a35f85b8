import { parseTenantSettings } from "../model/tenant.ts";
import type { TenantSettings } from "../model/tenant.ts";
import type { Call, CallOptions } from "./http.ts";

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
}
