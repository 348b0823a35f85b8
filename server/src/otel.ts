import { OpenTelemetry } from "./telemetry/open-telemetry.ts";
import type { Telemetry, TelemetrySettings } from "./telemetry/telemetry.ts";

// This file is a bundle of its own, so that a server that records no spans neither reads nor parses the packages of
// OpenTelemetry.

/** Begins to record spans, and to send them to an OTLP receiver. */
export const openTelemetry = (settings: TelemetrySettings): Telemetry =>
  new OpenTelemetry(settings);
