// Preloaded by `node --import`: every import of `langsmith` gets the package in the variable LANGSMITH_PACKAGE instead, as with
// an npm alias. It applies to imports in packages, too, such as those of LangChain.
import { register } from "node:module";

const hooks = `
  const replacement = ${JSON.stringify(process.env["LANGSMITH_PACKAGE"])};
  const parentURL = ${JSON.stringify(import.meta.url)};
  export const resolve = (specifier, context, next) =>
    /^langsmith(\\/|$)/.test(specifier)
      ? next(specifier.replace("langsmith", replacement), { ...context, parentURL })
      : next(specifier, context);
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
