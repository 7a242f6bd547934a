/**
 * Where a repository is asked for. By GitHub's id of it wherever that is known: a name can be given
 * up and taken by another repository at any moment, an id cannot. GitHub serves below
 * `/repositories/{id}` whatever it serves below `/repos/{owner}/{repo}`; its own redirects lead
 * there.
 *
 * By name only while the id is not known. When GitHub then says that the repository has moved, it
 * is asked for once more, by the id that the redirect names: a redirect is never followed, because
 * its address is not ours and a redirected POST would arrive as a GET.
 */
import { z } from 'zod'
import { InvalidInputError } from '../errors.ts'
import type { RepositoryRef } from '../github.ts'
import type { Ask } from './ask.ts'
import type { Repository } from './credentials.ts'
import { isGitHubError } from './errors.ts'

/** Neither part may be dots alone: they would climb to another path of the API. */
const fullName = /^(?!\.{1,2}\/)([\w.-]{1,100})\/(?!\.{1,2}$)([\w.-]{1,100})$/

const named = '/repos/{owner}/{repo}'
const numbered = '/repositories/{repository_id}'

export const repositoryForm = z.object({
  id: z.number().int().positive(),
  full_name: z.string().regex(fullName),
})

/** `nameUntilNow`: what we knew it by. */
export type OnRenamed = (githubId: number, newName: string, nameUntilNow: string) => void

export interface RepositoryPlace {
  readonly actor: Repository
  /** A route below `/repos/{owner}/{repo}` as it has to be asked here. */
  route(route: string): string
  /** What the route's own part of the path is filled in with. */
  readonly parameters: Readonly<Record<string, string | number>>
}

export async function askAtItsPlace<T>(
  ask: Ask,
  { repo, repoGithubId }: RepositoryRef,
  question: (place: RepositoryPlace) => Promise<T>,
  onRenamed?: OnRenamed,
): Promise<T> {
  if (repoGithubId !== null) return await question(placeOfId(repoGithubId))
  try {
    return await question(placeOfName(repo))
  } catch (error) {
    if (!isGitHubError(error, 'redirected') || error.repositoryId === null) throw error
    // By id also to whom: an owner's change may have brought another installation.
    const place = placeOfId(error.repositoryId)
    const route = place.route(`GET ${named}`)
    const { data } = await ask(place.actor, repositoryForm, route, place.parameters)
    // It was not the repository that moved.
    if (data.full_name.toLowerCase() === repo.toLowerCase()) throw error
    onRenamed?.(data.id, data.full_name, repo)
    return await question(place)
  }
}

/** For what is asked about who may act there: never as somebody with a limit of their own. */
export async function actorAtItsPlace<T>(
  { repo, repoGithubId }: RepositoryRef,
  question: (actor: Repository) => Promise<T>,
): Promise<T> {
  if (repoGithubId !== null) return await question({ repositoryId: repoGithubId })
  try {
    return await question(placeOfName(repo).actor)
  } catch (error) {
    if (!isGitHubError(error, 'redirected') || error.repositoryId === null) throw error
    return await question({ repositoryId: error.repositoryId })
  }
}

function placeOfId(id: number): RepositoryPlace {
  return {
    actor: { repositoryId: id },
    route: (route) => route.replace(named, numbered),
    parameters: { repository_id: id },
  }
}

function placeOfName(given: string): RepositoryPlace {
  const [, owner, name] = fullName.exec(given) ?? []
  if (owner === undefined || name === undefined) {
    throw new InvalidInputError('invalid_repo', 'repo', 'a repository is named owner/name')
  }
  return { actor: { owner, name }, route: (route) => route, parameters: { owner, repo: name } }
}
