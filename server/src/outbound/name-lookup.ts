import { lookup } from "node:dns/promises";
import { TaskLimit } from "./task-limit.ts";
import { outboundLookups } from "./outbound-limits.ts";

/** Resolves the name of a host to its addresses. */
export type NameLookup = (hostname: string) => Promise<readonly string[]>;

/** Resolves names as all programs of this machine do, a few at the same time. */
export function createNameLookup(): NameLookup {
  const limit = new TaskLimit(outboundLookups);
  return (hostname) =>
    limit.run(async () => {
      const addresses = await lookup(hostname, { all: true });
      return addresses.map(({ address }) => address);
    });
}
