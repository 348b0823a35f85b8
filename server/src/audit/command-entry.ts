import { randomUUID } from "node:crypto";
import { userInfo } from "node:os";
import type { AuditEntry } from "../model/audit-entry.ts";
import { createIncreasingClock } from "../storage/clock.ts";

const nowMicros = createIncreasingClock();

/** Creates the audit entry of a change that a command makes directly in the database, without a server. */
export const createCommandEntry = (
  tenantId: string,
  action: string,
  target: string,
): AuditEntry => ({
  id: randomUUID(),
  tenantId,
  atMicros: nowMicros(),
  actor: { kind: "command", id: null, name: describeUser() },
  address: null,
  action,
  target,
  outcome: "succeeded",
  status: null,
  requestId: null,
});

/** The user of the operating system that runs the command. */
function describeUser(): string {
  try {
    return userInfo().username;
  } catch {
    return "unknown user"; // In a container, the user may have no entry in the list of users.
  }
}
