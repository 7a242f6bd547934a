/**
 * Asks under a repository's name and, when GitHub says that it has moved, once more under the name
 * it has now. The way there is by id: a redirect is never followed, because its address is not ours
 * and a redirected POST would arrive as a GET.
 */
import { z } from 'zod'
import { InvalidInputError } from '../errors.ts'
import type { RepositoryRef } from '../github.ts'
import type { Ask } from './ask.ts'
import type { Repository } from './credentials.ts'
import { isGitHubError } from './errors.ts'

/** Neither part may be dots alone: they would climb to another path of the API. */
const fullName = /^(?!\.{1,2}\/)([\w.-]{1,100})\/(?!\.{1,2}$)([\w.-]{1,100})$/

const repositoryForm = z.object({ full_name: z.string().regex(fullName) })

/** `nameUntilNow`: what we knew it by, where that was all we knew; null where its id was known. */
export type OnRenamed = (githubId: number, newName: string, nameUntilNow: string | null) => void

export async function askUnderItsName<T>(
  ask: Ask,
  { repo, repoGithubId }: RepositoryRef,
  question: (owner: string, name: string, actor: Repository) => Promise<T>,
  onRenamed?: OnRenamed,
): Promise<T> {
  const named = partsOf(repo)
  try {
    return await question(named.owner, named.name, named)
  } catch (error) {
    if (!isGitHubError(error, 'redirected')) throw error
    // Where we know which one we mean, an old name that leads to another is of no use.
    const id = repoGithubId ?? error.repositoryId
    if (id === null) throw error
    // By id also to whom: an owner's change may have brought another installation.
    const moved = { repositoryId: id }
    const { data } = await ask(moved, repositoryForm, 'GET /repositories/{id}', { id })
    // It was not the repository that moved.
    if (data.full_name.toLowerCase() === repo.toLowerCase()) throw error
    onRenamed?.(id, data.full_name, repoGithubId === null ? repo : null)
    const { owner, name } = partsOf(data.full_name)
    return await question(owner, name, moved)
  }
}

function partsOf(repo: string): { owner: string; name: string } {
  const [, owner, name] = fullName.exec(repo) ?? []
  if (owner !== undefined && name !== undefined) return { owner, name }
  throw new InvalidInputError('invalid_repo', 'repo', 'a repository is named owner/name')
}
