import { ValidationError } from "../model/errors.ts";
import { uploadLimits } from "../model/resources/upload.ts";
import type { UploadSettings } from "../model/resources/upload.ts";

/** The settings of an upload, checked and with defaults applied. */
export interface CheckedSettings extends UploadSettings {
  readonly chunkBytes: number;
  readonly chunkCount: number;
  readonly inFlight: number;
  readonly patienceMs: number;
}

/**
 * Checks settings and applies the defaults.
 *
 * @throws {@link ValidationError} if a setting is out of range.
 */
export function checkSettings(settings: UploadSettings): CheckedSettings {
  const { chunkBytes = 1_048_576, chunkCount = 1_000, patienceMs = 120_000, ordered } = settings;
  const inFlight = ordered === true ? 1 : (settings.inFlight ?? 4);
  assertInteger("chunkBytes", chunkBytes);
  assertInteger("chunkCount", chunkCount);
  assertInteger("inFlight", inFlight);
  assertInteger("patienceMs", patienceMs);
  return { ...settings, chunkBytes, chunkCount, inFlight, patienceMs };
}

function assertInteger(name: keyof typeof uploadLimits, value: unknown): void {
  const [min, max] = uploadLimits[name];
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
    throw new ValidationError(`${name} must be a whole number from ${min} to ${max}`);
  }
}
