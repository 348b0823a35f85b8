const uuid = "[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}";
/** The address of a run's page names its project and trace too: the run is what `run=` names, else the trace. */
const address = new RegExp(`\\S*[?&](?:trace=${uuid}&)?(?:run|trace)=(${uuid})\\S*`, "gi");

/** The ids of runs in a text: alone, or in addresses of their pages. Each once, in order. */
export function parseRunIds(text: string): readonly string[] {
  const alone = text.replace(address, " $1 ");
  return [...new Set((alone.match(new RegExp(uuid, "gi")) ?? []).map((id) => id.toLowerCase()))];
}
