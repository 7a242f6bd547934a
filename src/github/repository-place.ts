/**
 * How requests name a repository: by GitHub's id if it is known. Another repository can get the
 * name at any moment, but never the id. GitHub serves the same below `/repositories/{id}` as below
 * `/repos/{owner}/{repo}`, and its own redirects lead there.
 *
 * A repository is asked for by name only while its id is not known. If GitHub then answers with a
 * redirect, Holdfast asks once more, by the id in the redirect. It never follows a redirect: the
 * address is not ours, and a redirected POST would arrive as a GET.
 */
import { z } from 'zod'
import { InvalidInputError } from '../errors.ts'
import type { RepositoryRef } from '../github.ts'
import type { Ask } from './ask.ts'
import type { Repository } from './credentials/credentials.ts'
import { isGitHubError } from './errors.ts'

/** Neither part may be only dots: they would lead to another path of the API. */
const fullName = /^(?!\.{1,2}\/)([\w.-]{1,100})\/(?!\.{1,2}$)([\w.-]{1,100})$/

const pathByName = '/repos/{owner}/{repo}'
const pathById = '/repositories/{repository_id}'

export const repositoryForm = z.object({
  id: z.number().int().positive(),
  full_name: z.string().regex(fullName),
})

/** `nameUntilNow`: the name that we knew. */
export type OnRenamed = (githubId: number, newName: string, nameUntilNow: string) => void

export interface RepositoryPlace {
  readonly actor: Repository
  /** Changes a route below `/repos/{owner}/{repo}` to the route for this repository. */
  route(route: string): string
  /** The values for the repository's part of the path. */
  readonly parameters: Readonly<Record<string, string | number>>
}

export async function askInRepository<T>(
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
    // The actor is also found by id: with a new owner, it may be another installation.
    const place = placeOfId(error.repositoryId)
    const route = place.route(`GET ${pathByName}`)
    const { data } = await ask(place.actor, repositoryForm, route, place.parameters)
    // The name is still the same, so something else was moved.
    if (data.full_name.toLowerCase() === repo.toLowerCase()) throw error
    onRenamed?.(data.id, data.full_name, repo)
    return await question(place)
  }
}

/** For questions about who may act in a repository. They are not asked as an installation. */
export async function asRepositoryActor<T>(
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
    route: (route) => route.replace(pathByName, pathById),
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
