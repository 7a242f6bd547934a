/** `ensureNotPublished`: checks the repository's id, learns our own account, searches GitHub. */
import type { Authors } from '../channels/parts.ts'
import { pullRequestKey } from '../domain/pair.ts'
import { ConflictError, OutputUnknownError, SetupError, type HoldfastError } from '../errors.ts'
import type { GitHubConnection } from '../github.ts'
import { GitHubError } from '../github/errors.ts'
import { runPolicy } from '../settings/run-types/run-policy.ts'
import type { Settings } from '../settings/settings.ts'
import { OutputSearch, type OutputKey, type PublishedOutput, type ShownAs } from './find-output.ts'

export class OutputGate {
  readonly #settings: Settings
  readonly #github: GitHubConnection | null
  #authors: Promise<Authors> | null = null

  constructor(settings: Settings, github: GitHubConnection | null) {
    this.#settings = settings
    this.#github = github
  }

  async check(key: OutputKey): Promise<PublishedOutput> {
    if (this.#github === null) throw noCredentials()
    const runKey = pullRequestKey(key.repo, key.prNumber, key)
    try {
      if (key.repoId !== undefined) await refuseOtherId(this.#github, key.repo, key.repoId)
      const authors = await this.#ownAuthors(this.#github)
      return await new OutputSearch(this.#github, key, authors).find(this.#shownAs(key.type))
    } catch (error) {
      const isExpected = error instanceof GitHubError || error instanceof OutputUnknownError
      throw isExpected ? outputUnknown(runKey, error) : error
    }
  }

  #shownAs(type: string): ShownAs {
    const { anchorPer, statusContext } = runPolicy(
      this.#settings,
      type,
      'pull_request',
    ).announcement
    return { hasComment: anchorPer !== null, statusContext }
  }

  /** GitHub is asked once, because credentials always belong to the same account. */
  #ownAuthors(github: GitHubConnection): Promise<Authors> {
    this.#authors ??= learnAuthors(github).catch((error: unknown) => {
      this.#authors = null
      throw error
    })
    return this.#authors
  }
}

/** By mistake the id may be that of a fork. A fork has other pull requests, without our output. */
async function refuseOtherId(github: GitHubConnection, repo: string, given: number): Promise<void> {
  const { githubId } = await github.repositoryNamed(repo)
  if (githubId === given) return
  throw new ConflictError(
    'repo_id_mismatch',
    `repoId ${given} is not ${repo}, which is GitHub's repository ${githubId}`,
    {
      hint:
        'Pass repo and repoId of one event: repository.full_name and repository.id ' +
        "(pull_request.head.repo.id may be a fork's). If the repository was renamed since, pass " +
        'its new name.',
    },
  )
}

async function learnAuthors(github: GitHubConnection): Promise<Authors> {
  const account = await github.ownAccount()
  if (account === null) {
    throw new OutputUnknownError('output_unknown', 'GitHub rejects the credentials')
  }
  const { id, appId } = account
  return {
    userIds: new Set(id === null ? [] : [id]),
    appIds: new Set(appId === null ? [] : [appId]),
  }
}

function noCredentials(): SetupError {
  return new SetupError('github_access', 'ensureNotPublished needs GitHub credentials', {
    hint: 'Pass them when opening: openHoldfast(config, { github: { token } }).',
  })
}

function outputUnknown(runKey: string, cause: HoldfastError): OutputUnknownError {
  const message = `cannot tell whether the result of ${runKey} was published: ${cause.message}`
  return new OutputUnknownError('output_unknown', message, {
    hint:
      'Publish nothing now, and ask again later. If it stays, check that the credentials may ' +
      'read the pull request, its comments and the commit statuses.',
    cause,
  })
}
