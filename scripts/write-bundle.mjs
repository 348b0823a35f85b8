import { rolldown } from "rolldown";

/**
 * Bundles modules for Node and writes the result. Adds the packages whose code it contains to `notices`, unless that is
 * undefined.
 */
export const writeBundle = async (input, output, notices) => {
  const bundle = await rolldown({ platform: "node", logLevel: "warn", ...input });
  const { output: files } = await bundle.write(output);
  await bundle.close();
  for (const file of files) {
    for (const path of file.type === "chunk" ? Object.keys(file.modules) : []) {
      notices?.addModule(path);
    }
  }
};
