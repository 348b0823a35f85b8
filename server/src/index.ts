export { ServerError } from "./model/errors.ts";
export type { ServerErrorCode } from "./model/errors.ts";
export type { OpenedLog } from "./ingest-log/log-report.ts";
export { createBackup, restoreBackup } from "./store/backup.ts";
export type { BackupOptions, RestoreOptions, RestoreResult } from "./store/backup.ts";
export { KeyStore } from "./store/key-store.ts";
export type { KeyDraft, ListedKey } from "./store/key-admin.ts";
export { PostgresKeyStore } from "./store/postgres/postgres-key-store.ts";
export type { ApiKey, NewKey } from "./tenants/tenant.ts";
export { defaultPort } from "./model/default-port.ts";
export { toKeyVariable } from "./model/model-endpoint.ts";
export type { ModelEndpointOption } from "./model/model-endpoint.ts";
export type { ServerOptions } from "./model/options.ts";
export { startServer } from "./start-server.ts";
export type { RunningServer } from "./start-server.ts";
export { describeStoreUrl } from "./model/store-url.ts";
export { createTenantBackup, isTenantFile, restoreTenant } from "./transfer/tenant-transfer.ts";
export type {
  TenantPlace,
  TenantRestoreOptions,
  TenantRestoreResult,
} from "./transfer/tenant-transfer.ts";
export type { TenantBackup } from "./transfer/tenant-backup.ts";
export type { TableSum } from "./transfer/tenant-file.ts";
export { abandonMove, moveFolder } from "./transfer/move/move-folder.ts";
export type { MoveOptions, MoveResult } from "./transfer/move/move-folder.ts";
