import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { Spool } from "../../src/workers/spool/spool.ts";
import type { SpoolLoss, SpoolOptions } from "../../src/workers/spool/spool-options.ts";

/** Where the present test's spool is; a new folder for each. */
export const place = { folder: "" };

beforeEach(() => {
  place.folder = mkdtempSync(join(tmpdir(), "millrace-spool-"));
});

afterEach(() => {
  rmSync(place.folder, { recursive: true, force: true });
});

export interface Opened {
  readonly spool: Spool;
  readonly losses: SpoolLoss[];
  readonly troubles: string[];
}

export function open(options: Partial<SpoolOptions> = {}): Opened {
  const losses: SpoolLoss[] = [];
  const troubles: string[] = [];
  const spool = new Spool({
    folder: place.folder,
    quotaBytes: 100_000_000,
    syncMs: 60_000,
    onLost: (loss) => {
      if (loss.own + loss.inherited > 0) {
        losses.push(loss);
      }
    },
    onTrouble: (kind, message) => troubles.push(`${kind}: ${message}`),
    ...options,
  });
  return { spool, losses, troubles };
}

/** Each body counts as one record. */
export const append = (spool: Spool, ...bodies: readonly string[]): void => {
  for (const body of bodies) {
    spool.append(Buffer.from(body, "latin1"), 1);
  }
};

export async function takeAll(spool: Spool): Promise<readonly string[]> {
  const bodies: string[] = [];
  for (let tape = await spool.next(); tape !== undefined; tape = await spool.next()) {
    bodies.push(Buffer.from(tape.body).toString("latin1"));
    spool.done();
  }
  return bodies;
}

/** What the next client finds. */
export async function recover(): Promise<Opened & { readonly bodies: readonly string[] }> {
  const opened = open();
  await opened.spool.claim();
  const bodies = await takeAll(opened.spool);
  opened.spool.close();
  return { ...opened, bodies };
}

/** Writes bodies as a client does that then closes. */
export function leaveBehind(...bodies: readonly string[]): void {
  const { spool } = open();
  append(spool, ...bodies);
  spool.close();
}

export const inFolder = (): readonly string[] => readdirSync(place.folder).toSorted();

/** Paths of all segments, the oldest first. */
export const segments = (): readonly string[] =>
  inFolder().flatMap((lane) =>
    readdirSync(join(place.folder, lane))
      .toSorted()
      .map((name) => join(place.folder, lane, name)),
  );
export const only = (): string => segments()[0] ?? "";
