/**
 * Decides which repository a claim is about if its caller sends GitHub's id. The caller may send a
 * wrong id, such as a fork's. So a caller alone cannot merge, rename or contradict a repository:
 *
 *   GitHub said so before         the id is used
 *   the sandbox made up an id     the claim uses the name alone: the id may be right
 *   GitHub says so when asked     the id is used, and GitHub's answer is stored
 *   GitHub says otherwise         the claim is refused
 *   GitHub cannot be asked        if GitHub said otherwise before, the claim is refused; otherwise
 *                                 the claim uses the name alone, and merges nothing
 *
 * Without a connection to GitHub, as in the library, the store keeps the id as unverified, unless
 * it contradicts what is known.
 */
import type { Claim } from '../domain/claim.ts'
import { isSandboxId } from '../domain/repository-names.ts'
import { ConflictError } from '../errors.ts'
import type { StorePart } from '../store.ts'
import type { NameCheck } from './name-check.ts'

interface RepositorySources {
  readonly store: StorePart<{ repositories: 'learnUnverified' | 'nameKnowledge' }>
  /** Null when there is no connection to GitHub. */
  readonly names: Pick<NameCheck, 'repositoryIdOf'> | null
}

/** The claim with the id that it may use, or without one. */
export async function withRepository(
  { store, names }: RepositorySources,
  claim: Claim,
): Promise<Claim> {
  const { repo, repoId, eventAt, actor } = claim
  if (repo === null || repoId === null) return claim
  const knowledge =
    names === null
      ? await store.repositories.learnUnverified(repo, repoId, eventAt, actor)
      : await store.repositories.nameKnowledge(repo, repoId)
  if (knowledge === 'known') return claim
  if (knowledge !== 'open' && isSandboxId(knowledge.anothers)) return { ...claim, repoId: null }
  const idOnGitHub = names === null ? null : await names.repositoryIdOf(repo, repoId)
  if (idOnGitHub === repoId) return claim
  if (idOnGitHub !== null) throw mismatch(repo, repoId, idOnGitHub, otherName)
  if (knowledge !== 'open') {
    throw mismatch(repo, repoId, knowledge.anothers, names === null ? cannotAsk : notAsked)
  }
  return { ...claim, repoId: null }
}

const ofOneEvent =
  'Send repo and repo_id of one event: repository.full_name and repository.id ' +
  "(pull_request.head.repo.id may be a fork's)."
const otherName = `${ofOneEvent} If the repository was renamed since, send its new name.`
const nameChangedOwner = `${ofOneEvent} If you do, the name now belongs to another repository`
const notAsked = `${nameChangedOwner}, and GitHub could not be asked now. Try again in a minute.`
const cannotAsk = `${nameChangedOwner}. Try again when a server on this store knows about it.`

function mismatch(repo: string, repoId: number, known: number, hint: string): ConflictError {
  const message = `repo_id ${repoId} is not ${repo}, which is GitHub's repository ${known}`
  return new ConflictError('repo_id_mismatch', message, { hint })
}
