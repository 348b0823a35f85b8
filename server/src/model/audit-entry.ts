/** Who sent a request that is audited. */
export type AuditActor =
  /** An API key that is stored in the database. */
  | { readonly kind: "key"; readonly id: string; readonly name: string }
  /** An API key that the server was started with. The name distinguishes such keys without revealing them. */
  | { readonly kind: "option"; readonly id: null; readonly name: string }
  /** No key: the server requires none yet. */
  | { readonly kind: "open"; readonly id: null; readonly name: null }
  /** A command that changes the database without a server, such as `millrace keys create`. The name is the user's. */
  | { readonly kind: "command"; readonly id: null; readonly name: string };

/** The kinds of actors, as the API names them. */
export const auditActorKinds = [
  "key",
  "option",
  "open",
  "command",
] as const satisfies readonly AuditActor["kind"][];

/** How an audited request ended: it took effect, its key did not permit it, or it was refused for another reason. */
export const auditOutcomes = ["succeeded", "denied", "failed"] as const;
export type AuditOutcome = (typeof auditOutcomes)[number];

/** One entry of the audit log. It contains no bodies and no secrets. */
export interface AuditEntry {
  readonly id: string;
  readonly tenantId: string;
  /** Microseconds since the Unix epoch. */
  readonly atMicros: number;
  readonly actor: AuditActor;
  /** The address of the client; `null` for a command, or if the client disconnected at once. */
  readonly address: string | null;
  /** The name of the endpoint, such as `createKey`. */
  readonly action: string;
  /** What the action concerned: ids and names from the path, or the id of what was created. */
  readonly target: string;
  readonly outcome: AuditOutcome;
  /** The status of the response; `null` if the action took effect. */
  readonly status: number | null;
  /** The id of the request in the server's log; `null` for a command. */
  readonly requestId: string | null;
}

/**
 * The entry of a request that is in progress. The first write of the request stores the entry in its own transaction.
 */
export interface PendingAudit {
  createEntry(): AuditEntry;
  /** Must be called once a write has stored the entry. */
  markStored(): void;
}
