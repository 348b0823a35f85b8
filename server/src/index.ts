export { ServerError } from "./model/errors.ts";
export type { ServerErrorCode } from "./model/errors.ts";
export type { OpenedLog } from "./ingest-log/log-report.ts";
export { createBackup, restoreBackup } from "./store/backup.ts";
export type { BackupOptions, RestoreOptions, RestoreResult } from "./store/backup.ts";
export { KeyStore } from "./store/key-store.ts";
export type { KeyDraft, ListedKey } from "./store/key-draft.ts";
export { PostgresKeyStore } from "./store/postgres/postgres-key-store.ts";
export type { ApiKey, NewKey } from "./tenants/tenant.ts";
export { defaultPort } from "./model/default-port.ts";
export { toKeyVariable } from "./model/model-endpoint.ts";
export type { ModelEndpointOption } from "./model/model-endpoint.ts";
export type { ServerOptions } from "./model/options.ts";
export { startServer } from "./start-server.ts";
export type { RunningServer } from "./start-server.ts";
export { describeStoreUrl } from "./model/store-url.ts";
export { isTenantFile } from "./transfer/is-tenant-file.ts";
export { createTenantBackup, restoreTenant } from "./transfer/tenant-transfer.ts";
export type {
  TenantPlace,
  TenantRestoreOptions,
  TenantRestoreResult,
} from "./transfer/tenant-transfer.ts";
export type { TableSum, TenantBackup } from "./transfer/table-sums.ts";
export { abandonMove, moveFolder } from "./transfer/move/move-folder.ts";
export type { MoveOptions, MoveResult } from "./transfer/move/move-folder.ts";
