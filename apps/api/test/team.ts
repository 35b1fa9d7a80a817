import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { insertMember } from "@latchkey/db/members";
import type { Role } from "@latchkey/db/role";
import { inWorkspace, type WorkspaceScope } from "@latchkey/db/workspace-scope";
import { password, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

export interface Team {
  readonly id: string;
  readonly scope: WorkspaceScope;
  readonly owner: Person;
  /** The path under `/open`. */
  readonly path: string;
}

/** A user who is signed in and has an API key. */
export interface Person {
  readonly client: ReturnType<typeof openClient>["client"];
  readonly userId: UserId;
  readonly secret: string;
}

/** A workspace with its owner. */
export async function addTeam(app: TestApp): Promise<Team> {
  const owner = await addPerson(app);
  const { id } = await owner.client.workspaces.create.mutate({ name: "Team" });
  const scope = openAsOperator(decodeId("workspace", id) as WorkspaceId); // The API has just created it.
  return { id, scope, owner, path: `/workspaces/${id}` };
}

export async function addPerson(app: TestApp): Promise<Person> {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { client, userId, secret: (await app.addKey(userId)).secret };
}

/** A new person with a role in the workspace. */
export async function join(app: TestApp, { scope }: Pick<Team, "scope">, role: Role): Promise<Person> {
  const person = await addPerson(app);
  await inWorkspace(app.services.db, scope, (trx) =>
    insertMember(trx, scope, { userId: person.userId, role }),
  );
  return person;
}
