/**
 * What an event teaches about a repository: its numeric id, which outlives every rename.
 *
 *   name known, id unknown            the id is filled in
 *   id known, name new                a rename: one more name for the same repository
 *   name known under another id       the name was reused: it now means the other repository
 *   both known, as two rows           claims by a new name came before the rename was heard of:
 *                                     they are one repository, and its subjects are moved together
 */
import type { AuditDraft } from '../../domain/audit.ts'
import type { Verb } from '../sql.ts'
import { sql } from '../sql.ts'
import { insertAudits } from '../tables/audit-table.ts'
import type { Repository } from '../tables/repository-table.ts'
import {
  repositoryByGithubId,
  repositoryByName,
  resolveRepositories,
} from '../tables/repository-table.ts'
import type { VerbContext } from './context.ts'
import { mergeSubjects } from './merge-subjects.ts'

export function* learnRepository(context: VerbContext, name: string, githubId: number): Verb<void> {
  const byId = yield* repositoryByGithubId(githubId)
  const byName = yield* repositoryByName(name)
  if (byName?.githubId === githubId) return
  if (byId === null) {
    const taken = byName !== null && byName.githubId !== null
    if (byName === null || taken) yield* makeNew(context, name)
    yield* fillIn(name, githubId)
    const data = { name, github_id: githubId, ...(taken && { taken_from: byName.id }) }
    yield* tell(context, 'repository.identified', data)
    return
  }
  yield* addName(byId, name)
  yield* tell(context, 'repository.renamed', { repository: byId.id, from: byId.name, to: name })
  if (byName !== null && byName.githubId === null) yield* mergeSubjects(context, byName, byId)
}

function* tell(
  context: VerbContext,
  type: 'repository.identified' | 'repository.renamed',
  data: AuditDraft['data'],
): Verb<void> {
  yield* insertAudits([{ type, actor: 'system', runId: null, data }], context.now())
}

/** The name's old owner keeps its subjects; the name means a new repository from now on. */
function* makeNew(context: VerbContext, name: string): Verb<void> {
  yield sql`DELETE FROM repository_name WHERE name = ${name}`
  yield* resolveRepositories([name], () => context.newId('rep'), context.now())
}

function* fillIn(name: string, githubId: number): Verb<void> {
  yield sql`UPDATE repository SET github_id = ${githubId} WHERE github_id IS NULL
    AND id = (SELECT repository_id FROM repository_name WHERE name = ${name})`
}

function* addName(repository: Repository, name: string): Verb<void> {
  yield sql`INSERT INTO repository_name (name, repository_id) VALUES (${name}, ${repository.id})
    ON CONFLICT (name) DO UPDATE SET repository_id = excluded.repository_id`
  yield sql`UPDATE repository SET name = ${name} WHERE id = ${repository.id}`
}
