/** Payloads in GitHub's form, with the parts that a test needs. */
import { createHash } from 'node:crypto'

export const shaOf = (text: string): string => createHash('sha1').update(text).digest('hex')

/** A time in the past, as GitHub writes it. */
export const atSecond = (second: number): string =>
  new Date(Date.UTC(2024, 0, 1, 0, 0, second)).toISOString().replace('.000Z', 'Z')

export interface Repository {
  readonly id: number
  readonly full_name: string
}

export interface PullRequestOptions {
  readonly repository: Repository
  readonly number: number
  readonly action: string
  /** Short words, from which the payload gets full shas. */
  readonly head: string
  readonly base?: string
  /** The time in seconds, which orders two events. */
  readonly at: number
  readonly sender?: object
  readonly user?: object
  readonly draft?: boolean
  readonly state?: 'open' | 'closed'
  /** Fields of the payload beside the pull request. */
  readonly more?: object
}

export const person = (login: string, id = login.length): object => ({ login, id, type: 'User' })
export const bot = (login: string, id = 1000 + login.length): object => ({ login, id, type: 'Bot' })

export function pullRequestPayload(options: PullRequestOptions): object {
  const { repository, number, action, head, base = 'main', at } = options
  const { sender = person('mona'), user = person('mona') } = options
  return {
    action,
    number,
    pull_request: {
      number,
      state: options.state ?? 'open',
      draft: options.draft ?? false,
      user,
      updated_at: atSecond(at),
      head: { sha: shaOf(head), ref: 'topic', repo: repository },
      base: { sha: shaOf(base), ref: 'main', repo: repository },
    },
    repository,
    sender,
    ...options.more,
  }
}

let repositories = 0

/** A new repository with a pull request, whose events are built from short words. */
export function newThread(number = 7) {
  repositories += 1
  const repository = { id: 70_000 + repositories, full_name: `Acme/thread-${repositories}` }
  const repo = repository.full_name.toLowerCase()
  const on = (
    action: string,
    head: string,
    at: number,
    over: Partial<PullRequestOptions> = {},
  ) => ({
    event: 'pull_request',
    payload: pullRequestPayload({ repository, number, action, head, at, ...over }),
  })
  return { repository, repo, number, on }
}
