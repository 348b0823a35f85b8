const unusedCompiler = (): never => {
  throw new Error("an application must set its own schema compilers");
};

/** Replaces Fastify's own schema compilers, which no application here uses, so that they are not loaded. */
export const unusedCompilers = { buildValidator: unusedCompiler, buildSerializer: unusedCompiler };
