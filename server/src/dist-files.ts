/**
 * Where a file of the build lies. This module stays in its top folder, alone or within the bundle of a
 * thread, so that names are found from both.
 *
 * @param name - from the top folder of the build, without a slash in front.
 */
export function distFile(name: string): URL {
  return new URL(name, import.meta.url);
}
