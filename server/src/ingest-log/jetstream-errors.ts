// What JetStream reports, by the codes of the NATS server.

/** Error codes of JetStream; see the list of the NATS server. */
export const errorCodes = {
  noPeers: 10_005,
  noResources: 10_023,
  noMessage: 10_037,
  noStorage: 10_047,
  noStream: 10_059,
  notClustered: 10_074,
  notStored: 10_077,
} as const;

/** Returns the error code that JetStream has sent; `undefined` if the cause is not an error of JetStream. */
export function errorCodeOf(cause: unknown): number | undefined {
  const error: unknown = cause instanceof Error ? Reflect.get(cause, "api_error") : undefined;
  const code: unknown =
    typeof error === "object" && error !== null ? Reflect.get(error, "err_code") : undefined;
  return typeof code === "number" ? code : undefined;
}

/** Whether a cluster has fewer servers than the requested number of replicas. */
export const isTooFewServers = (cause: unknown): boolean => {
  const code = errorCodeOf(cause);
  return code === errorCodes.noPeers || code === errorCodes.notClustered;
};

/** Whether the stream or the disk of a server has no space for a message. */
export const isLogFull = (cause: unknown): boolean => {
  const code = errorCodeOf(cause);
  return (
    code === errorCodes.notStored ||
    code === errorCodes.noResources ||
    code === errorCodes.noStorage
  );
};
