import { deadObjectPrefix } from "./dead-letters.ts";
import type { LogConnection } from "./log-connection.ts";
import { logLimits, logNames } from "./log-limits.ts";

/**
 * Deletes objects that are much older than the oldest message in the log. An object is stored only seconds before its
 * message, so no message refers to these objects. The difference in age is larger than any error of a clock. Returns
 * how many objects were deleted.
 */
export async function deleteOrphans(log: LogConnection, now = Date.now()): Promise<number> {
  // List the objects before the messages: a message that arrives in between belongs to an object that is not in the
  // list, or that is too new to be deleted.
  const objects = await log.objects.list();
  const { state } = await log.manager.streams.info(logNames.stream);
  const oldest = state.messages === 0 ? now : Date.parse(state.first_ts);
  const orphans = objects.filter(
    ({ name, mtime, deleted }) =>
      !deleted &&
      !name.startsWith(deadObjectPrefix) &&
      Date.parse(mtime) < oldest - logLimits.orphanMs,
  );
  for (const { name } of orphans) {
    await log.deleteObject(name);
  }
  return orphans.length;
}
