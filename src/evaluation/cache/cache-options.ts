import { resolve } from "node:path";
import { ValidationError } from "../../main/index.ts";
import { checkKeys } from "../../model/index.ts";

/**
 * What happens to requests. `"auto"`: a recorded response is used; other requests are sent, and their responses are
 * recorded. `"record"`: each request is sent, and its response is recorded again. `"replay"`: no request is sent, and a
 * request without a recorded response fails.
 */
export type CacheMode = "auto" | "record" | "replay";

/** How requests are recorded and replayed, and where. */
export interface CacheSettings {
  /** @defaultValue `"auto"` */
  readonly mode?: CacheMode | undefined;
  /** Folder of the files. @defaultValue `millrace-cache` in the working directory */
  readonly folder?: string | undefined;
}

const modes: readonly unknown[] = ["auto", "record", "replay"] satisfies CacheMode[];
const defaultFolder = "millrace-cache";

/**
 * Checks the option `cache` of the call with this name.
 *
 * @throws {@link ValidationError} if it is not valid.
 */
export function readCacheOption(
  option: CacheMode | CacheSettings,
  call: string,
): { readonly mode: CacheMode; readonly folder: string } {
  const untyped: unknown = option;
  if (typeof untyped !== "object" || untyped === null) {
    return readCacheOption({ mode: untyped as CacheMode }, call);
  }
  const settings = untyped as CacheSettings;
  checkKeys<CacheSettings>(
    settings,
    { mode: 1, folder: 1 },
    { subject: `${call}: \`cache\``, error: ValidationError },
  );
  const { mode = "auto", folder = defaultFolder } = settings;
  if (!modes.includes(mode)) {
    throw new ValidationError(
      `${call}: \`cache\` must be "auto", "record", "replay", or an object such as { mode: "auto", folder }, not ${JSON.stringify(mode)}`,
    );
  }
  if (typeof folder !== "string" || folder === "") {
    throw new ValidationError(`${call}: the folder of \`cache\` must be a non-empty string`);
  }
  return { mode, folder: resolve(folder) };
}
