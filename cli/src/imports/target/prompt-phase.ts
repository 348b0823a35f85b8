import type { Item, Phase } from "../model/import-source.ts";
import { addPrompt, chooseHandles } from "./add-prompt.ts";
import type { SourcePrompt } from "./add-prompt.ts";
import type { ImportTarget } from "./import-target.ts";

/** A prompt in a list of the source. */
export interface ListedPrompt {
  readonly name: string;
  /** Reads the rest of the prompt, which gets this handle on the target. */
  readonly read: (handle: string) => Promise<Omit<SourcePrompt, "product" | "handle">>;
}

/** Returns the phase that imports the prompts of a product, one after the other. */
export const toPromptPhase = (
  target: ImportTarget,
  product: string,
  listPrompts: () => Promise<readonly ListedPrompt[]>,
): Phase => ({
  name: "prompts",
  listItems: async () => {
    const prompts = await listPrompts();
    const handles = chooseHandles(prompts.map(({ name }) => name));
    return prompts.map(({ name, read }): Item => ({
      key: name,
      label: `prompt ${JSON.stringify(name)}`,
      importPage: async () => {
        const handle = handles.get(name) ?? name;
        await addPrompt(target, { ...(await read(handle)), product, handle });
        return undefined;
      },
    }));
  },
});
