/** Where runs are filed. */
export interface Project {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
}

/** @throws TypeError the server answered something else. */
export function parseProjects(value: unknown): readonly Project[] {
  if (!Array.isArray(value)) {
    throw new TypeError("the server's answer is no list of projects");
  }
  return value.map(parseProject);
}

function parseProject(value: unknown): Project {
  const { id, tenant_id, name } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || typeof tenant_id !== "string" || typeof name !== "string") {
    throw new TypeError("the server's answer holds a project without id, tenant or name");
  }
  return { id, tenantId: tenant_id, name };
}
