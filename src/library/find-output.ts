/**
 * Searches GitHub for the published result of a run key. It asks GitHub alone, for a bot that works
 * without its store.
 *
 * Only output of our own account counts:
 * - a comment or a review with the result mark of these commits;
 * - a comment or a review that a run on these commits published itself. It counts whatever it says:
 *   only its author can tell progress from a result, and if a result were taken for progress, it
 *   would be published twice;
 * - the type's commit status, if it shows a result. A status belongs to a commit, not to a pull
 *   request and a base. If the type writes comments, and one of them shows a result for this head
 *   with another base, or in another pull request, the status is not about this key.
 *
 * What must hold: the answer is "not published" only after everything was read. If something could
 * not be read, or there is more than we read, the answer is an OutputUnknownError.
 */
import { z } from 'zod'
import { markerKeyIn } from '../channels/marker.ts'
import { authorForm, eachPage, isByUs, type Authors } from '../channels/parts.ts'
import { readResultMark } from '../channels/result-mark.ts'
import { pairOf } from '../domain/pair.ts'
import type { GitHubCalls, RepositoryRef } from '../github.ts'
import { ownMarkerStart } from '../marker-keys.ts'
import { OutputUnknownError } from '../errors.ts'

/** A page has a hundred entries. */
const pagesMax = 100
/** The comments and reviews of each of these pull requests are read. */
const otherPullsMax = 20

export interface OutputKey {
  readonly repo: string
  /** The id of `repo`. If it is given, GitHub is asked by this id alone. */
  readonly repoId?: number | undefined
  readonly prNumber: number
  readonly baseSha: string
  readonly headSha: string
  readonly type: string
}

/** How the type shows its results. */
export interface ShownAs {
  /** Null if the type writes no status. */
  readonly statusContext: string | null
  readonly hasComment: boolean
}

export type PublishedOutput =
  | {
      readonly published: true
      readonly where: 'comment' | 'review' | 'status'
      /** Its page on GitHub; null for a status, which has none. */
      readonly url: string | null
    }
  | { readonly published: false; readonly where: null; readonly url: null }

const nowhere: PublishedOutput = { published: false, where: null, url: null }

const writtenForm = authorForm.extend({
  html_url: z.string().nullish(),
  body: z.string().nullish(),
  /** Only a review has one. */
  state: z.string().nullish(),
})
const statusForm = z.object({
  context: z.string(),
  state: z.string(),
  creator: z.object({ id: z.number() }).nullish(),
})
const pullForm = z.object({
  number: z.number(),
  /** Missing if the head's fork was deleted. */
  head: z.object({ sha: z.string(), label: z.string().nullish() }),
})

const lists = [
  ['comment', 'GET /repos/{owner}/{repo}/issues/{number}/comments'],
  ['review', 'GET /repos/{owner}/{repo}/pulls/{number}/reviews'],
] as const

export class OutputSearch {
  readonly #github: GitHubCalls
  readonly #key: OutputKey
  readonly #authors: Authors
  readonly #repository: RepositoryRef

  constructor(github: GitHubCalls, key: OutputKey, authors: Authors) {
    this.#github = github
    this.#key = key
    this.#authors = authors
    this.#repository = { repo: key.repo, repoGithubId: key.repoId ?? null }
  }

  async find({ statusContext, hasComment }: ShownAs): Promise<PublishedOutput> {
    const onThread = await this.#resultsIn(this.#key.prNumber)
    if (onThread.exact !== null) return onThread.exact
    if (statusContext === null || !(await this.#hasStatus(statusContext))) return nowhere
    const isOfAnother = hasComment && (onThread.sameHead || (await this.#isOfAnotherPull()))
    return isOfAnother ? nowhere : { published: true, where: 'status', url: null }
  }

  /** Finds the type's results in a pull request: for these commits, and for the same head. */
  async #resultsIn(number: number) {
    const { type, headSha } = this.#key
    const pair = pairOf(this.#key)
    const ownStart = ownMarkerStart({ type, pair })
    let sameHead = false
    for (const [where, route] of lists) {
      for await (const { body, html_url: url, state, ...author } of this.#all(writtenForm, route, {
        number,
      })) {
        // Only its author sees a review that was not submitted.
        if (state === 'PENDING' || !isByUs(author, this.#authors)) continue
        const mark = readResultMark(body ?? '')
        const pairs = mark?.type === type ? mark.pairs : []
        const isOwn = markerKeyIn(body ?? '')?.startsWith(ownStart) === true
        if (isOwn || pairs.includes(pair)) {
          return { exact: { published: true, where, url: url ?? null } as const, sameHead: true }
        }
        sameHead ||= pairs.some((other) => other.endsWith(`:head-${headSha}`))
      }
    }
    return { exact: null, sameHead }
  }

  /** Our newest status counts, because a new round begins with `pending`. */
  async #hasStatus(context: string): Promise<boolean> {
    const { userIds } = this.#authors
    const route = 'GET /repos/{owner}/{repo}/commits/{ref}/statuses'
    for await (const status of this.#all(statusForm, route, { ref: this.#key.headSha })) {
      if (status.context.toLowerCase() !== context.toLowerCase()) continue
      if (userIds.size === 0) throw unknown('GitHub does not say which account this App acts as')
      if (status.creator == null || !userIds.has(status.creator.id)) continue
      return status.state === 'success' || status.state === 'failure'
    }
    return false
  }

  async #isOfAnotherPull(): Promise<boolean> {
    const { prNumber } = this.#key
    const others = new Set([...(await this.#withCommit()), ...(await this.#ofSameBranch())])
    others.delete(prNumber)
    if (others.size > otherPullsMax) {
      throw unknown(`more than ${otherPullsMax} other pull requests have this commit`)
    }
    for (const number of others) {
      if ((await this.#resultsIn(number)).sameHead) return true
    }
    return false
  }

  /** GitHub lists open and merged pull requests here. */
  async #withCommit(): Promise<number[]> {
    const route = 'GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls'
    const numbers: number[] = []
    for await (const pull of this.#all(pullForm, route, { commit_sha: this.#key.headSha })) {
      numbers.push(pull.number)
    }
    return numbers
  }

  /** Includes closed pull requests, because a branch often gets a new one after a closed one. */
  async #ofSameBranch(): Promise<number[]> {
    const { prNumber: number, headSha } = this.#key
    const ownRoute = 'GET /repos/{owner}/{repo}/pulls/{number}'
    const own = await this.#github.call(this.#repository, pullForm, ownRoute, { number }, Infinity)
    const { label } = own.data.head
    if (label == null) return []
    const route = 'GET /repos/{owner}/{repo}/pulls'
    const numbers: number[] = []
    for await (const pull of this.#all(pullForm, route, { head: label, state: 'all' })) {
      if (pull.head.sha.toLowerCase() === headSha) numbers.push(pull.number)
    }
    return numbers
  }

  async *#all<T>(form: z.ZodType<T>, route: string, asked: Readonly<Record<string, unknown>>) {
    const list = z.array(form)
    let pages = 0
    for await (const page of eachPage(
      this.#github,
      this.#repository,
      list,
      route,
      asked,
      Infinity,
    )) {
      pages += 1
      if (pages > pagesMax) throw unknown(`${route}: there are more than ${pagesMax} pages`)
      yield* page
    }
  }
}

function unknown(why: string): OutputUnknownError {
  return new OutputUnknownError('output_unknown', why)
}
