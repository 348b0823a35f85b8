export { ServerError } from "./model/errors.ts";
export type { ServerErrorCode } from "./model/errors.ts";
export { KeyStore } from "./store/key-store.ts";
export type { KeyDraft, ListedKey } from "./store/key-store.ts";
export type { ApiKey, NewKey } from "./tenants/tenant.ts";
export { defaultPort } from "./model/default-port.ts";
export type { ServerOptions } from "./model/options.ts";
export { startServer } from "./start-server.ts";
export type { RunningServer } from "./start-server.ts";
