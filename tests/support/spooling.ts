import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { Spool } from "../../src/workers/spool/spool.ts";
import type { SpoolLoss, SpoolOptions } from "../../src/workers/spool/spool-options.ts";

/** The spool folder of the current test. */
export const testSpool = { folder: "" };

/** Gives each test of the calling file a new spool folder, which is deleted after the test. */
export function useSpoolFolders(): void {
  beforeEach(() => {
    testSpool.folder = mkdtempSync(join(tmpdir(), "millrace-spool-"));
  });
  afterEach(() => {
    rmSync(testSpool.folder, { recursive: true, force: true });
  });
}

export interface OpenedSpool {
  readonly spool: Spool;
  readonly losses: SpoolLoss[];
  readonly troubles: string[];
}

export function openSpool(options: Partial<SpoolOptions> = {}): OpenedSpool {
  const losses: SpoolLoss[] = [];
  const troubles: string[] = [];
  const spool = new Spool({
    folder: testSpool.folder,
    quotaBytes: 100_000_000,
    syncMs: 60_000,
    onLost: (loss) => {
      if (loss.ownRecordCount + loss.inheritedRecordCount > 0) {
        losses.push(loss);
      }
    },
    onFault: (kind, message) => troubles.push(`${kind}: ${message}`),
    ...options,
  });
  return { spool, losses, troubles };
}

/** Appends tapes to a spool. Each body counts as one record. */
export const appendBodies = (spool: Spool, ...bodies: readonly string[]): void => {
  for (const body of bodies) {
    spool.append(Buffer.from(body, "latin1"), 1);
  }
};

export async function takeAll(spool: Spool): Promise<readonly string[]> {
  const bodies: string[] = [];
  for (
    let tape = await spool.readNextTape();
    tape !== undefined;
    tape = await spool.readNextTape()
  ) {
    bodies.push(Buffer.from(tape.body).toString("latin1"));
    spool.completeTape();
  }
  return bodies;
}

/** Takes over the spool as the next client would, and returns the bodies that it contains. */
export async function recoverSpool(): Promise<
  OpenedSpool & { readonly bodies: readonly string[] }
> {
  const openedSpool = openSpool();
  await openedSpool.spool.claim();
  const bodies = await takeAll(openedSpool.spool);
  openedSpool.spool.close();
  return { ...openedSpool, bodies };
}

/** Writes bodies to a spool and closes it, as a client does when it ends. */
export function writeAndClose(...bodies: readonly string[]): void {
  const { spool } = openSpool();
  appendBodies(spool, ...bodies);
  spool.close();
}

export const spoolEntries = (): readonly string[] => readdirSync(testSpool.folder).toSorted();

/** Paths of all segments, the oldest first. */
export const segmentPaths = (): readonly string[] =>
  spoolEntries().flatMap((writerDirectory) =>
    readdirSync(join(testSpool.folder, writerDirectory))
      .toSorted()
      .map((name) => join(testSpool.folder, writerDirectory, name)),
  );
export const onlySegmentPath = (): string => segmentPaths()[0] ?? "";
