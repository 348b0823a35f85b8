import type { RunningServer } from "@millrace/server";
import { openSqliteStore } from "../../dist/store/sqlite-store.js";
import { call, runServer, sharedServer, temporaryFolder } from "./running-server.ts";
import type { CallResult, CallInit } from "./running-server.ts";

/** Sends requests as one tenant. */
export type SendAs = (target: string, body?: CallInit["body"]) => Promise<CallResult>;

/** A server with two tenants, `me` and `you`, and one without a handle; each has a key. */
export interface HubTenants {
  readonly server: RunningServer;
  readonly keys: { readonly me: string; readonly you: string; readonly nameless: string };
  readonly me: SendAs;
  readonly you: SendAs;
  readonly nameless: SendAs;
}

/**
 * Two tenants of the server that all tests share, which are faster to get than {@link hubTenants}, and the server itself,
 * where each request needs a key. For a test that needs no handles.
 */
export async function twoTenants(): Promise<TwoTenants> {
  const [mine, yours] = await Promise.all([runServer(), runServer()]);
  const as =
    (server: RunningServer): SendAs =>
    (target, body) =>
      call(server, target, { body });
  return { server: sharedServer(), me: as(mine), you: as(yours) };
}

export interface TwoTenants {
  readonly server: { readonly url: string };
  readonly me: SendAs;
  readonly you: SendAs;
}

export async function hubTenants(): Promise<HubTenants> {
  const dataDir = await temporaryFolder();
  const store = await openSqliteStore(dataDir);
  const keyOf = async (handle: string | null): Promise<string> => {
    const { id } = await store.write.tenants.create({ handle, displayName: String(handle) });
    return (await store.write.tenants.createKey(id, { name: "test" })).key;
  };
  const keys = { me: await keyOf("me"), you: await keyOf("you"), nameless: await keyOf(null) };
  await store.close();
  const server = await runServer({ dataDir });
  const as =
    (key: string): SendAs =>
    (target, body) =>
      call(server, target, { body, headers: { "x-api-key": key } });
  return { server, keys, me: as(keys.me), you: as(keys.you), nameless: as(keys.nameless) };
}
