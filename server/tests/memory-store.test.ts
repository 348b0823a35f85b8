import { describe } from "vitest";
import { MemoryStore } from "../src/store/memory-store.ts";
import { describeStore } from "./store-contract.ts";

describe("the store in memory", () => {
  describeStore(async () => new MemoryStore());
});
