import { expectTypeOf, test } from "vitest";
import type { Client, TenantSettings } from "../../src/main/index.ts";

declare const tenant: Client["tenant"];
declare const signal: AbortSignal;

test("settings are read and a handle is set, with the settings for an answer", () => {
  expectTypeOf(tenant.settings({ signal })).toEqualTypeOf<Promise<TenantSettings>>();
  expectTypeOf(tenant.setHandle("me")).toEqualTypeOf<Promise<TenantSettings>>();
  // @ts-expect-error the handle is passed as a string
  void tenant.setHandle({ handle: "me" });
});

test("a handle may not be there yet", () => {
  expectTypeOf<TenantSettings["handle"]>().toEqualTypeOf<string | undefined>();
});
