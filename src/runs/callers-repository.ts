/**
 * Which repository a claim is about whose caller names GitHub's id of it. A caller may be wrong,
 * and take the id of a fork for it, so its word alone joins, renames and contradicts nothing:
 *
 *   GitHub said so before         the id counts
 *   GitHub says so when asked     the id counts, and what GitHub says is learnt
 *   GitHub says otherwise         the claim is refused
 *   GitHub cannot be asked        where it said otherwise before, the claim is refused; else the
 *                                 claim goes by its name alone, and joins nothing
 *
 * Without a connection to GitHub, as in the library, the store learns what contradicts nothing.
 */
import type { Claim } from '../domain/claim.ts'
import { ConflictError } from '../errors.ts'
import type { StorePart } from '../store.ts'
import type { NameCheck } from './name-check.ts'

interface Asked {
  readonly store: StorePart<{ repositories: 'learnUnverified' | 'nameKnowledge' }>
  /** Null where GitHub cannot be asked at all. */
  readonly names: Pick<NameCheck, 'meaningOf'> | null
}

/** The claim with the id it may go by, or with none. */
export async function withRepository({ store, names }: Asked, claim: Claim): Promise<Claim> {
  const { repo, repoId, eventAt, actor } = claim
  if (repo === null || repoId === null) return claim
  const knowledge =
    names === null
      ? await store.repositories.learnUnverified(repo, repoId, eventAt, actor)
      : await store.repositories.nameKnowledge(repo, repoId)
  if (knowledge === 'known') return claim
  const answered = names === null ? null : await names.meaningOf(repo, repoId)
  if (answered === repoId) return claim
  if (answered !== null) throw mismatch(repo, repoId, answered, otherName)
  if (knowledge !== 'open') {
    throw mismatch(repo, repoId, knowledge.anothers, names === null ? cannotAsk : notAsked)
  }
  return { ...claim, repoId: null }
}

const ofOneEvent =
  'Send repo and repo_id of one event: repository.full_name and repository.id ' +
  "(pull_request.head.repo.id may be a fork's)."
const otherName = `${ofOneEvent} If the repository was renamed since, send its new name.`
const nameChangedOwner = `${ofOneEvent} If they are, the name has changed hands since GitHub told of it`
const notAsked = `${nameChangedOwner}, and GitHub could not be asked now: try again in a minute.`
const cannotAsk = `${nameChangedOwner}: try again when a server on this store has heard of that.`

function mismatch(repo: string, repoId: number, known: number, hint: string): ConflictError {
  const message = `repo_id ${repoId} is not ${repo}, which is GitHub's repository ${known}`
  return new ConflictError('repo_id_mismatch', message, { hint })
}
