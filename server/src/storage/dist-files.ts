/** This module is in a folder of the build, or part of a bundle in its top folder. */
const topFolder = new URL(
  /\/storage\/dist-files\.[jt]s$/.test(import.meta.url) ? "../" : "./",
  import.meta.url,
);

/**
 * The address of a file of the build.
 *
 * @param name - from the top folder of the build, without a slash in front.
 */
export const distFile = (name: string): URL => new URL(name, topFolder);
