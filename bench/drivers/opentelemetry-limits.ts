/**
 * Maximum number of unacknowledged runs for a batch span processor. It is less than the queue of 2,048 spans, beyond which
 * spans are lost, and more than a batch of 512 spans, because an incomplete batch is sent only after five seconds.
 */
export const openTelemetryMaxUnacknowledgedRuns = 1_536;
