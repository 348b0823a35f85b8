/**
 * How far ahead of the server a batch processor may be without loss: below its queue of 2,048 spans,
 * above the 512 of a batch, because fewer wait for five seconds.
 */
export const openTelemetryAheadRuns = 1_536;
