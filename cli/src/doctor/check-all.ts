import type { DoctorFlags } from "../local-server/settings.ts";
import type { Check } from "./check.ts";
import { checkDns, checkEndpoint, checkProxy, checkTls } from "./network-checks.ts";
import { checkRun } from "./run-check.ts";
import { checkClock, checkKey, checkLimits, checkServer, checkVersions } from "./server-checks.ts";
import { readSettings } from "../local-server/settings.ts";
import { checkSpool } from "./spool-check.ts";

/**
 * Runs all checks and yields each one as soon as it has completed. Checks that an earlier failure makes
 * pointless are skipped.
 */
export async function* checkAll(
  flags: DoctorFlags,
  env: NodeJS.ProcessEnv,
): AsyncGenerator<Check, void> {
  const settings = readSettings(flags, env);
  const endpointCheck = checkEndpoint(settings);
  yield endpointCheck;
  if (endpointCheck.status === "failed") {
    yield checkVersions(undefined);
    yield await checkSpool(settings);
    for (const name of [
      "proxy",
      "dns",
      "tls",
      "server",
      "clock",
      "key",
      "limits",
      "run",
    ] as const) {
      yield createSkippedCheck(name, "no valid endpoint");
    }
    return;
  }
  yield checkProxy(settings);
  yield await checkDns(settings);
  yield await checkTls(settings);
  const { check: server, info, response } = await checkServer(settings);
  yield server;
  yield checkVersions(info);
  yield response === undefined
    ? createSkippedCheck("clock", "no server response to compare with")
    : checkClock(response);
  if (info === undefined) {
    yield createSkippedCheck("key", "no server to check it with");
    yield createSkippedCheck("limits", "no server to read them from");
    yield await checkSpool(settings);
    yield createSkippedCheck("run", "no server to send it to");
    return;
  }
  yield checkLimits(response);
  const keyCheck = await checkKey(settings);
  yield keyCheck;
  yield await checkSpool(settings);
  yield keyCheck.status === "failed"
    ? createSkippedCheck("run", "the check of the key failed")
    : await checkRun(settings, flags.project);
}

const createSkippedCheck = (name: Check["name"], found: string): Check => ({
  name,
  status: "skipped",
  found,
});
