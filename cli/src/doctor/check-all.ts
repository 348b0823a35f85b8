import type { DoctorFlags } from "./settings.ts";
import type { Check } from "./check.ts";
import { checkDns, checkEndpoint, checkProxy, checkTls } from "./network-checks.ts";
import { checkRun } from "./run-check.ts";
import { checkClock, checkKey, checkLimits, checkServer, checkVersions } from "./server-checks.ts";
import { readSettings } from "./settings.ts";
import { checkSpool } from "./spool-check.ts";

/** All checks, each as soon as it is done. One that an earlier failure makes pointless is skipped. */
export async function* checkAll(
  flags: DoctorFlags,
  env: NodeJS.ProcessEnv,
): AsyncGenerator<Check, void> {
  const settings = readSettings(flags, env);
  const endpoint = checkEndpoint(settings);
  yield endpoint;
  if (endpoint.status === "failed") {
    yield checkVersions(undefined);
    yield await checkSpool(settings);
    yield skip("server", "there is no address to ask");
    return;
  }
  yield checkProxy(settings);
  yield await checkDns(settings);
  yield await checkTls(settings);
  const { check: server, info, answer } = await checkServer(settings);
  yield server;
  yield checkVersions(info);
  yield answer === undefined ? skip("clock", "no answer to compare with") : checkClock(answer);
  if (info === undefined) {
    yield skip("key", "no server to show it to");
    yield skip("limits", "no server that names them");
    yield await checkSpool(settings);
    yield skip("run", "no server to send one to");
    return;
  }
  yield checkLimits(answer);
  const key = await checkKey(settings);
  yield key;
  yield await checkSpool(settings);
  yield key.status === "failed"
    ? skip("run", "the key is not let in")
    : await checkRun(settings, flags.project);
}

const skip = (name: Check["name"], found: string): Check => ({ name, status: "skipped", found });
