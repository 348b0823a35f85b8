import { EventEmitter } from "node:events";
import type { FastifyReply, FastifyRequest } from "fastify";
import { expect, test } from "vitest";
import type { AuditEntry } from "../../model/audit-entry.ts";
import { auditLimits } from "../audit.ts";
import { AuditLog } from "../audit-log.ts";
import { AuditPruner } from "../audit-pruner.ts";
import { addCreatedId } from "../audit-target.ts";

const actor = { kind: "open", id: null, name: null } as const;

/** A request and a response of an audited endpoint; `end` closes the response. */
function createExchange(tenantId: string) {
  const raw = Object.assign(new EventEmitter(), { headersSent: false, statusCode: 200 });
  const request = {
    tenantId,
    id: "r",
    ip: "::1",
    params: { id: "a" },
    query: {},
    body: undefined,
    routeOptions: { config: { audit: { name: "createKey" } } },
  } as unknown as FastifyRequest;
  return {
    request,
    reply: { raw } as unknown as FastifyReply,
    end: (status?: number) => {
      raw.headersSent = status !== undefined;
      raw.statusCode = status ?? 200;
      raw.emit("close");
    },
  };
}

function createLog() {
  const entries: AuditEntry[] = [];
  let dropped = 0;
  let nowMs = 0;
  const store = {
    write: {
      audit: {
        record: async (_tenantId: string, entry: AuditEntry) => void entries.push(entry),
      },
    },
  };
  const log = new AuditLog(
    store,
    () => (dropped += 1),
    () => nowMs,
  );
  return {
    log,
    entries,
    dropped: () => dropped,
    passMs: (ms: number) => (nowMs += ms),
  };
}

test("an entry that no write has stored is recorded when the response ends", async () => {
  const { log, entries } = createLog();
  const stored = createExchange("t");
  log.begin(stored.request, stored.reply, actor)?.markStored();
  stored.end(201);
  const other = createExchange("t");
  log.begin(other.request, other.reply, actor);
  other.end(204);
  await log.close();
  expect(entries).toMatchObject([{ outcome: "succeeded", status: null, target: "a" }]);
});

test("a client that disconnects before the response leaves a failed entry", async () => {
  const { log, entries } = createLog();
  const { request, reply, end } = createExchange("t");
  log.begin(request, reply, actor);
  end();
  await log.close();
  expect(entries).toMatchObject([{ outcome: "failed", status: 499 }]);
});

test("the address is that from which the request came, also if its connection is closed meanwhile", () => {
  const { log } = createLog();
  const { request, reply } = createExchange("t");
  const open = log.begin(request, reply, actor);
  // Node knows the address of a socket only while the socket is connected.
  Object.assign(request, { ip: undefined });
  expect(open?.createEntry().address).toBe("::1");
  expect(log.begin(request, reply, actor)?.createEntry().address).toBeNull();
});

test("refused requests beyond the limit of a minute are counted, for each tenant by itself", async () => {
  const { log, entries, dropped, passMs } = createLog();
  const refuse = (tenantId: string): void => {
    const { request, reply, end } = createExchange(tenantId);
    log.begin(request, reply, actor);
    end(403);
  };
  const warnings: string[] = [];
  const onWarning = ({ message }: Error): void => void warnings.push(message);
  process.on("warning", onWarning);
  for (let count = 0; count < auditLimits.refusalsPerMinute + 5; count += 1) {
    refuse("a");
  }
  refuse("b");
  await log.close();
  expect(entries).toHaveLength(auditLimits.refusalsPerMinute + 1);
  expect(dropped()).toBe(5);
  passMs(60_000);
  refuse("a");
  expect(entries).toHaveLength(auditLimits.refusalsPerMinute + 2);
  await expect.poll(() => warnings.length).toBe(1);
  process.off("warning", onWarning);
  expect(warnings[0]).toContain("tenant a has sent more than");
});

test("the id of what was created is added, but no text that a share returns", () => {
  const entry = { target: "name" } as AuditEntry;
  expect(addCreatedId(entry, { id: "1", key: "secret" }).target).toBe("name, 1");
  expect(addCreatedId(entry, { webhook: { id: "2" }, secret: "s" }).target).toBe("name, 2");
  expect(addCreatedId(entry, "share token").target).toBe("name");
});

test("the pruner deletes in steps until nothing has expired, and waits for the next time", async () => {
  const counts = [auditLimits.prunedPerStep, 3];
  const cutoffs: number[] = [];
  const store = {
    write: {
      audit: {
        removeExpired: async (beforeMicros: number) => {
          cutoffs.push(beforeMicros);
          return counts.shift() ?? 0;
        },
      },
    },
  };
  const pruner = new AuditPruner(store, 2, { firstMs: 1, intervalMs: 3_600_000, pauseMs: 1 });
  await expect.poll(() => cutoffs.length).toBe(2);
  pruner.close();
  const ageDays = (Date.now() - (cutoffs[0] ?? 0) / 1_000) / 86_400_000;
  expect(ageDays).toBeCloseTo(2, 1);
});
