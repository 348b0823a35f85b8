import { describe } from "vitest";
import { MemoryStore } from "../src/store/memory-store.ts";
import { describeProjects } from "./project-contract.ts";
import { describeQueries } from "./query-contract.ts";
import { describeIngest } from "./ingest-contract.ts";

describe("the store in memory", () => {
  describeIngest(async () => new MemoryStore());
  describeQueries(async () => new MemoryStore());
  describeProjects(async () => new MemoryStore());
});
