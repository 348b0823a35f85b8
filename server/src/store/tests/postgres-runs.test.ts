import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe } from "vitest";
import { PgliteClient } from "../../../tests/support/pglite-client.ts";
import { createRunTables, openRunStore } from "../../../tests/support/postgres-run-store.ts";
import { StoreFixture } from "../../../tests/support/store-fixture.ts";
import type { RunTestStore } from "../../../tests/support/store-fixture.ts";
import { describeIngest } from "./ingest-contract.ts";
import { describeProjects } from "./project-contract.ts";
import { describeQueries } from "./query-contract.ts";

describe("runs in PostgreSQL", () => {
  let client: PgliteClient;
  let store: RunTestStore;
  // One database for all tests, each with a tenant of its own.
  beforeAll(async () => {
    client = await PgliteClient.open();
    await createRunTables(client);
    store = openRunStore(client);
  }, 60_000);
  afterAll(() => client.close());
  const open = async (): Promise<StoreFixture<RunTestStore>> =>
    new StoreFixture(store, randomUUID());
  describeIngest(open);
  describeQueries(open);
  describeProjects(open);
});
