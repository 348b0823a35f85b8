/** What the address says of the project. */
export interface Place {
  readonly tenantId: string;
  readonly projectId: string;
}
