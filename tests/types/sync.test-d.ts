import { expectTypeOf, test } from "vitest";
import type {
  Client,
  CreateProject,
  Project,
  RunShare,
  SyncResources,
  TenantSettings,
  Run,
} from "../../src/main/index.ts";
import type { BlockingResource } from "../../src/api/sync/sync-facade.ts";

declare const sync: SyncResources;

test("the sync facade has every resource of the client, and nothing else", () => {
  type Resources = {
    [Name in keyof Client]: Client[Name] extends { readonly [name: string]: unknown }
      ? never
      : Name;
  };
  expectTypeOf<keyof SyncResources>().toExtend<keyof Resources>();
  expectTypeOf<"projects" | "runs" | "tenant">().toExtend<keyof SyncResources>();
  expectTypeOf<SyncResources>().not.toHaveProperty("http");
  expectTypeOf<Client["sync"]>().toEqualTypeOf<SyncResources>();
});

test("every resource has every call, and each returns what the asynchronous call resolves to", () => {
  expectTypeOf<keyof SyncResources["projects"]>().toEqualTypeOf<keyof Client["projects"]>();
  expectTypeOf<keyof SyncResources["runs"]>().toEqualTypeOf<keyof Client["runs"]>();
  expectTypeOf(sync.tenant.settings()).toEqualTypeOf<TenantSettings>();
  expectTypeOf(sync.projects.create({ name: "p" })).toEqualTypeOf<Project>();
  expectTypeOf(sync.runs.share("id")).toEqualTypeOf<RunShare>();
  expectTypeOf(sync.projects.delete({ projectName: "p" })).toEqualTypeOf<void>();
});

test("no call is lost in the derived types, and none returns a promise or unknown", () => {
  type Lost<Noun> = {
    [Name in keyof Noun]: Noun[Name] extends (...args: infer Args) => infer Result
      ? unknown extends Result
        ? Name
        : Result extends Promise<unknown>
          ? Name
          : [Args[number]] extends [never]
            ? Args["length"] extends 0
              ? never
              : Name
            : never
      : Name;
  }[keyof Noun];
  type LostCalls = {
    [Name in keyof SyncResources]: Lost<SyncResources[Name]>;
  }[keyof SyncResources];
  expectTypeOf<LostCalls>().toEqualTypeOf<never>();
});

test("a list is an array", () => {
  expectTypeOf(sync.projects.list()).toEqualTypeOf<Project[]>();
  expectTypeOf(sync.runs.list({ isRoot: true })).toEqualTypeOf<Run[]>();
});

test("arguments are the same, with a time limit in place of a signal", () => {
  const { signal } = new AbortController();
  sync.projects.read({ projectId: "i", includeStats: true, timeoutMs: 5 });
  sync.projects.update({ projectId: "i", name: "n", endTime: new Date(), timeoutMs: 5 });
  sync.runs.read("i", { timeoutMs: undefined });
  // @ts-expect-error: a blocking call can't be aborted
  sync.projects.list({ signal });
  // @ts-expect-error: only one of the two is allowed
  sync.projects.read({ projectId: "i", projectName: "n" });
  // @ts-expect-error: a name is required
  sync.projects.create({ timeoutMs: 5 });
  type Given = Parameters<SyncResources["projects"]["create"]>[0];
  expectTypeOf<Omit<Given, "timeoutMs">>().toEqualTypeOf<Omit<CreateProject, "signal">>();
});

test("what can't cross to another thread is no argument, and no result is a promise", () => {
  interface Things {
    upload(
      options: {
        readonly source: string | Uint8Array | AsyncIterable<string>;
        readonly onProgress?: ((done: number) => void) | undefined;
        readonly signal?: AbortSignal | undefined;
      },
      extra?: Readonly<Record<string, unknown>>,
    ): Promise<void>;
    lines(): AsyncIterable<string>;
    readonly name: string;
  }
  type Mirror = BlockingResource<Things>;
  type Options = Parameters<Mirror["upload"]>[0];
  expectTypeOf<Options["source"]>().toEqualTypeOf<string | Uint8Array>();
  expectTypeOf<Options["onProgress"]>().toEqualTypeOf<undefined>();
  expectTypeOf<Parameters<Mirror["upload"]>[1]>().toEqualTypeOf<
    Readonly<Record<string, unknown>> | undefined
  >();
  expectTypeOf<ReturnType<Mirror["lines"]>>().toEqualTypeOf<string[]>();
  expectTypeOf<keyof Mirror>().toEqualTypeOf<"upload" | "lines">();
});
