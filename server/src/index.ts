export { ServerError } from "./errors.ts";
export type { ServerErrorCode } from "./errors.ts";
export { KeyDesk } from "./key-desk.ts";
export type { KeyDraft, ListedKey } from "./key-desk.ts";
export type { ApiKey, NewKey } from "./store/tenant.ts";
export { defaultPort } from "./default-port.ts";
export type { ServerOptions } from "./options.ts";
export { startServer } from "./start-server.ts";
export type { RunningServer } from "./start-server.ts";
