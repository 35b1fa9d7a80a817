/**
 * A shell command that calls the open API. `key` is a key or a shell variable that contains a key.
 * With a workspace, the request is part of that workspace's statistics.
 */
export function curlLine(baseUrl: string, key: string, workspaceId?: string): string {
  const path = workspaceId === undefined ? "global/config" : `workspaces/${workspaceId}`;
  return `curl ${baseUrl}/open/${path} -H "Authorization: Bearer ${key}"`;
}
