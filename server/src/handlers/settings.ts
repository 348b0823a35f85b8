import type { CatalogStore } from "../store/run-store.ts";
import { toIso } from "../view/run-json.ts";

/** `GET /settings`: the workspace of this server. */
export const readSettings = ({ tenantId, tenantMicros }: CatalogStore) => ({
  id: tenantId,
  display_name: "local",
  created_at: toIso(tenantMicros),
  tenant_handle: null,
});
