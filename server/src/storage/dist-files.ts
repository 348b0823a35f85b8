/**
 * The top folder of the build. This module is in its folder `storage`, or bundled into a file of the top folder.
 */
const topFolder = new URL(
  /\/storage\/dist-files\.[jt]s$/.test(import.meta.url) ? "../" : "./",
  import.meta.url,
);

/**
 * Returns the URL of a file of the build.
 *
 * @param name - path in the build folder, without a leading slash.
 */
export const distFile = (name: string): URL => new URL(name, topFolder);
