import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { renameSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  appendBodies,
  spoolEntries,
  writeAndClose,
  openSpool,
  testSpool,
  recoverSpool,
  takeAll,
  useSpoolFolders,
} from "../support/spooling.ts";

useSpoolFolders();

/** The pid of a process that has ended. */
const deadPid = (): number => spawnSync(process.execPath, ["--version"]).pid;

describe("several processes", () => {
  test("take over abandoned tapes, each once", async () => {
    const bodies = Array.from({ length: 40 }, (_, index) => `body ${index}`);
    for (const body of bodies) {
      writeAndClose(body);
    }
    const program = new URL("../support/spool-program.mjs", import.meta.url);
    const children = Array.from({ length: 3 }, () =>
      fork(program, [testSpool.folder, "claim"], { execArgv: [] }),
    );
    await Promise.all(children.map((child) => once(child, "message")));
    const messages = children.map((child) => once(child, "message"));
    const exits = children.map((child) => once(child, "exit"));
    children.forEach((child) => child.send("go"));
    const claimedBodies = (await Promise.all(messages)).flatMap(([message]) => message as string[]);
    await Promise.all(exits);
    expect(claimedBodies.toSorted()).toEqual(bodies.toSorted());
    expect(spoolEntries()).toEqual([]);
  });

  /** Changes the owner of the only writer directory. */
  function disown(change: (owner: { host: string; pid: string; start: string }) => string): string {
    const [writerDirectory = ""] = spoolEntries();
    const [madeMs = "", host = "", pid = "", start = "", random = ""] = writerDirectory.split("-");
    const name = `${madeMs}-${change({ host, pid, start })}-${random}`;
    renameSync(join(testSpool.folder, writerDirectory), join(testSpool.folder, name));
    return join(testSpool.folder, name);
  }

  test("the writer directory of a running client, in this process or another, is not taken over", async () => {
    const { spool } = openSpool();
    appendBodies(spool, "under way");
    expect((await recoverSpool()).bodies).toEqual([]);
    expect(await takeAll(spool)).toEqual(["under way"]);
  });

  test("a client that closes while it searches for abandoned directories takes none over, not even its own", async () => {
    const { spool } = openSpool();
    appendBodies(spool, "ours");
    const looking = spool.claim();
    spool.close();
    await looking;
    expect((await recoverSpool()).bodies).toEqual(["ours"]);
  });

  test("the writer directory of an ended process is taken over", async () => {
    appendBodies(openSpool().spool, "left behind");
    disown(({ host, start }) => `${host}-${deadPid()}-${start}`);
    expect((await recoverSpool()).bodies).toEqual(["left behind"]);
  });

  test("the writer directory of an owner whose pid was reused is taken over", async () => {
    appendBodies(openSpool().spool, "left behind");
    disown(({ host }) => `${host}-${process.pid}-1`);
    expect((await recoverSpool()).bodies).toEqual(["left behind"]);
  });

  test("the writer directory of another machine is taken over only after its owner's heartbeat stops", async () => {
    appendBodies(openSpool().spool, "left behind");
    const path = disown(({ pid, start }) => `0badcafe-${pid}-${start}`);
    expect((await recoverSpool()).bodies).toEqual([]);
    const longAgo = new Date(Date.now() - 120_000);
    utimesSync(path, longAgo, longAgo);
    expect((await recoverSpool()).bodies).toEqual(["left behind"]);
  });
});
