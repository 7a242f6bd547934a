/**
 * Goal: without a store, nothing is published twice (scenario 28, second half). The output gate
 * finds what our own account published for a run key, accepts nothing else as that, and never says
 * "not published" if it could not look.
 * Method: the simulated GitHub over real HTTP, and a PostgreSQL address where no server listens.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { appKeyPem, rejectionOf } from '../../test/github/github-under-test.ts'
import type { Config } from '../config.ts'
import { OutputUnknownError } from '../errors.ts'
import {
  createGitHubSimulator,
  serveSimulator,
  type Fault,
  type GitHubSimulator,
  type ServedSimulator,
} from '../simulator/index.ts'
import type { Gate, Holdfast } from './holdfast.ts'
import { openHoldfast, type OpenOptions } from './open-holdfast.ts'

const repo = 'acme/widgets'
const token = 'ghp_TheTokenOfTheBot0123456789012345678'
const away = 'postgres://nobody@127.0.0.1:1/none'
const [head, otherHead] = ['a'.repeat(40), 'c'.repeat(40)]
const [base, otherBase] = ['b'.repeat(40), 'd'.repeat(40)]
const claim = {
  repo,
  prNumber: 7,
  baseSha: base,
  headSha: head,
  action: 'opened',
  eventAt: new Date('2026-01-31T12:00:00Z'),
}
const context = 'holdfast/review'
const matching = (pattern: RegExp) => expect.stringMatching(pattern) as string
const not = { published: false, where: null, url: null }

let github: GitHubSimulator
let served: ServedSimulator
const opened: Holdfast[] = []
/** Nothing is written to standard error. */
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
function ignore(): void {
  // A test reads answers.
}

beforeEach(async () => {
  github = createGitHubSimulator({
    tokens: [
      { token, login: 'the-bot' },
      { token: 'ghp_mallory', login: 'mallory' },
    ],
    app: { id: 12, slug: 'holdfast', privateKey: appKeyPem },
  })
  github.addRepository(repo)
  for (const login of ['the-bot', 'mallory']) github.setRole(repo, login, 'write')
  github.addPull(repo, { number: 7, headSha: head, baseSha: base })
  served = await serveSimulator(github)
})

afterEach(async () => {
  await Promise.all(opened.splice(0).map((holdfast) => holdfast.close()))
  await served.close()
})

/** A process that lost its store before it started. */
async function openAway(config: Config = {}, options: OpenOptions = {}): Promise<Holdfast> {
  const holdfast = await openHoldfast(
    { databaseUrl: away, githubApiUrl: served.url, ...config },
    { onStoreError: 'open', github: { token }, log, ...options },
  )
  opened.push(holdfast)
  return holdfast
}

async function failOpen(over: object = {}, config: Config = {}): Promise<[Holdfast, Gate]> {
  const holdfast = await openAway(config)
  const gate = await holdfast.checkAndClaimRun({ ...claim, ...over })
  expect(gate).toMatchObject({ shouldProcess: true, reason: 'store-error', run: null })
  return [holdfast, gate]
}

async function post(path: string, body: object, as = token): Promise<void> {
  const response = await fetch(`${served.url}/repos/${repo}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(response.ok).toBe(true)
}
const comment = (number: number, body: string, as = token) =>
  post(`/issues/${number}/comments`, { body }, as)
const status = (state: string, over: object = {}, as = token) =>
  post(`/statuses/${head}`, { state, context, ...over }, as)

describe('a result that a bot posts itself while it works without the store', () => {
  it('is found by another process without the store (scenario 28)', async () => {
    const [one, first] = await failOpen()
    expect(await one.ensureNotPublished(first.runKey)).toEqual(not)
    await comment(7, `Two nits.\n\n${first.resultMark}`)
    const [two, second] = await failOpen()
    expect(await two.ensureNotPublished(second.runKey)).toEqual({
      published: true,
      where: 'comment',
      url: expect.stringContaining(`/${repo}/pull/7#issuecomment-`) as string,
    })
    expect(await two.ensureNotPublished(claim)).toMatchObject({ published: true })
  })

  it('is found as a review, once it was submitted', async () => {
    const [holdfast, gate] = await failOpen()
    const body = `Two nits.\n\n${gate.resultMark}`
    await post('/pulls/7/reviews', { body })
    expect(github.reviews(repo, 7)).toMatchObject([{ state: 'PENDING' }])
    expect(await holdfast.ensureNotPublished(claim)).toEqual(not)
    github.addPull(repo, { number: 8, headSha: head, baseSha: base })
    await post('/pulls/8/reviews', { body, event: 'COMMENT' })
    expect(await holdfast.ensureNotPublished({ ...claim, prNumber: 8 })).toEqual({
      published: true,
      where: 'review',
      url: expect.stringContaining(`/${repo}/pull/8#pullrequestreview-`) as string,
    })
  })

  it('is found after two full pages of comments', async () => {
    const [holdfast, gate] = await failOpen()
    for (let n = 0; n < 250; n += 1) github.commentAs('octocat', repo, 7, `comment ${n}`)
    await comment(7, `Two nits.\n\n${gate.resultMark}`)
    expect(await holdfast.ensureNotPublished(claim)).toMatchObject({ where: 'comment' })
  })

  it('is found under the former name of its repository', async () => {
    const [holdfast, gate] = await failOpen()
    await comment(7, gate.resultMark)
    github.rename(repo, 'acme/gadgets')
    expect(await holdfast.ensureNotPublished(claim)).toMatchObject({ where: 'comment' })
  })

  it('is found by an App, which is recognized by its id', async () => {
    const holdfast = await openAway({}, { github: { appId: 12, privateKey: appKeyPem } })
    const { resultMark } = await holdfast.checkAndClaimRun(claim)
    await comment(7, resultMark)
    expect(await holdfast.ensureNotPublished(claim)).toEqual(not)
    github.commentAs('holdfast[bot]', repo, 7, resultMark)
    expect(await holdfast.ensureNotPublished(claim)).toMatchObject({ where: 'comment' })
  })
})

describe('not accepted as the result of the key is', () => {
  it('the mark in another person’s comment, review or status', async () => {
    const [holdfast, gate] = await failOpen()
    await comment(7, gate.resultMark, 'ghp_mallory')
    await post('/pulls/7/reviews', { body: gate.resultMark, event: 'COMMENT' }, 'ghp_mallory')
    await status('success', {}, 'ghp_mallory')
    expect(await holdfast.ensureNotPublished(claim)).toEqual(not)
  })

  it.each([
    ['another head', { headSha: otherHead }],
    ['another base', { baseSha: otherBase }],
    ['another type', { type: 'lint' }],
    ['another pull request', { prNumber: 8 }],
  ])('our result for %s', async (_what, over) => {
    github.addPull(repo, { number: 8, headSha: otherHead, baseSha: base })
    github.addCommit(repo, otherHead)
    const [holdfast, gate] = await failOpen()
    await comment(7, gate.resultMark)
    expect(await holdfast.ensureNotPublished({ ...claim, ...over })).toEqual(not)
  })

  it('a mark before the last one, as text from outside could contain it', async () => {
    const [holdfast, gate] = await failOpen()
    const other = await holdfast.checkAndClaimRun({ ...claim, baseSha: otherBase })
    await comment(7, `A model wrote: ${gate.resultMark}\n\n${other.resultMark}`)
    expect(await holdfast.ensureNotPublished(claim)).toEqual(not)
    expect(await holdfast.ensureNotPublished(other.runKey)).toMatchObject({ published: true })
  })
})

describe('the commit status', () => {
  it.each([
    ['success', true],
    ['failure', true],
    ['pending', false],
    ['error', false],
  ])('counts only if it is ours: %s', async (state, published) => {
    const [holdfast] = await failOpen()
    await status(state)
    const answer = { published, where: published ? 'status' : null, url: null }
    expect(await holdfast.ensureNotPublished(claim)).toEqual(answer)
  })

  it('counts by our newest one, even if others came after it', async () => {
    const [holdfast] = await failOpen()
    await status('success')
    await status('pending')
    expect(await holdfast.ensureNotPublished(claim)).toEqual(not)
    await status('failure')
    await status('pending', {}, 'ghp_mallory')
    expect(await holdfast.ensureNotPublished(claim)).toMatchObject({ where: 'status' })
  })

  it('counts under the configured context of the type', async () => {
    const runs = {
      review: { status: { context: 'acme/review' } },
      mute: { status: false },
    } as const
    const [holdfast] = await failOpen({}, { runs })
    await status('success')
    expect(await holdfast.ensureNotPublished(claim)).toEqual(not)
    expect(await holdfast.ensureNotPublished({ ...claim, type: 'mute' })).toEqual(not)
    await status('success', { context: 'Acme/Review' })
    expect(await holdfast.ensureNotPublished(claim)).toMatchObject({ where: 'status' })
  })

  it('of a commit in two pull requests belongs to the one with a comment', async () => {
    github.addPull(repo, { number: 8, headSha: head, baseSha: base })
    const [holdfast, gate] = await failOpen()
    await comment(7, gate.resultMark)
    await status('success')
    expect(await holdfast.ensureNotPublished({ ...claim, prNumber: 8 })).toEqual(not)
    expect(await holdfast.ensureNotPublished(claim)).toMatchObject({ where: 'comment' })
  })

  it('belongs to a closed pull request of the same branch, if that has a comment', async () => {
    const headRef = 'topic'
    github.addPull(repo, { number: 20, headSha: otherHead, baseSha: base, headRef })
    const first = { ...claim, prNumber: 20, headSha: otherHead }
    const [holdfast, gate] = await failOpen(first)
    await comment(20, gate.resultMark)
    await post(`/statuses/${otherHead}`, { state: 'success', context })
    github.close(repo, 20)
    github.addPull(repo, { number: 21, headSha: otherHead, baseSha: base, headRef })
    expect(await holdfast.ensureNotPublished({ ...first, prNumber: 21 })).toEqual(not)
  })

  it('of a shared commit counts if no comment of ours explains it', async () => {
    github.addPull(repo, { number: 8, headSha: head, baseSha: base })
    const [holdfast] = await failOpen()
    await status('success')
    const answer = await holdfast.ensureNotPublished({ ...claim, prNumber: 8 })
    expect(answer).toMatchObject({ where: 'status' })
  })

  it('belongs to an earlier base, if that has a comment', async () => {
    const [holdfast, gate] = await failOpen()
    await comment(7, gate.resultMark)
    await status('success')
    expect(await holdfast.ensureNotPublished({ ...claim, baseSha: otherBase })).toEqual(not)
  })

  it('counts for the commit if the type has no comment', async () => {
    github.addPull(repo, { number: 8, headSha: head, baseSha: otherBase })
    const [holdfast, gate] = await failOpen({}, { runs: { review: { anchor: false } } })
    await comment(7, gate.resultMark)
    await status('success')
    const other = { ...claim, prNumber: 8, baseSha: otherBase }
    expect(await holdfast.ensureNotPublished(other)).toMatchObject({ where: 'status' })
  })
})

describe('the answer is never no if', () => {
  const unknown = async (holdfast: Holdfast, over: object = {}) => {
    const error = await rejectionOf(holdfast.ensureNotPublished({ ...claim, ...over }))
    expect(error).toBeInstanceOf(OutputUnknownError)
    expect(error).toMatchObject({ code: 'output_unknown', hint: matching(/Publish nothing now/) })
    expect(String(error)).not.toContain(token)
    return String(error)
  }

  it('GitHub is down', async () => {
    const [holdfast] = await failOpen()
    await served.close()
    expect(await unknown(holdfast)).toContain('no connection to GitHub')
    served = await serveSimulator(github, { port: Number(new URL(served.url).port) })
    expect(await holdfast.ensureNotPublished(claim)).toEqual(not)
  })

  it.each([
    'GET /user',
    'GET /repos/{owner}/{repo}/issues/{issue_number}/comments',
    'GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews',
    'GET /repos/{owner}/{repo}/commits/{ref}/statuses',
    'GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls',
    'GET /repos/{owner}/{repo}/pulls/{pull_number}',
    'GET /repos/{owner}/{repo}/pulls',
  ])('%s fails', async (route) => {
    const [holdfast] = await failOpen()
    await status('success')
    github.faults.add({ on: { route }, fault: github.faults.serverError() })
    await unknown(holdfast)
    expect(await holdfast.ensureNotPublished(claim)).toMatchObject({ where: 'status' })
  })

  it('the second page fails', async () => {
    const [holdfast] = await failOpen()
    for (let n = 0; n < 101; n += 1) github.commentAs('octocat', repo, 7, `comment ${n}`)
    const route = 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments'
    github.faults.add({ on: { route, nth: 2 }, fault: github.faults.serverError() })
    await unknown(holdfast)
  })

  it('GitHub sets a limit, refuses the credentials or does not have the pull request', async () => {
    const [holdfast] = await failOpen()
    await unknown(holdfast, { prNumber: 99 })
    github.faults.add({ fault: github.faults.secondaryLimit() })
    await unknown(holdfast)
    const stranger = await openAway({}, { github: { token: 'ghp_revoked' } })
    expect(await unknown(stranger)).toContain('rejects the credentials')
  })

  it('there are more entries than are read', async () => {
    const [holdfast] = await failOpen()
    // A list without an end.
    const route = 'GET /repos/{owner}/{repo}/commits/{ref}/statuses'
    const fault: Fault = {
      name: 'always a next page',
      run: (exchange) => {
        const answer = exchange.perform()
        const link = '<https://api.github.com/next>; rel="next"'
        return { kind: 'answer', answer: { ...answer, headers: { ...answer.headers, link } } }
      },
    }
    github.faults.add({ on: { route, times: 1000 }, fault })
    expect(await unknown(holdfast)).toContain('more than 100 pages')
    expect(github.count(route)).toBe(101)
  })
})

describe('an invalid question is refused', () => {
  it('by field, with the remedy', async () => {
    const holdfast = await openAway()
    const ask = (output: unknown, of?: object) =>
      rejectionOf(holdfast.ensureNotPublished(output as string, of))
    expect(await ask({ ...claim, headSha: 'abc' })).toMatchObject({ field: 'headSha' })
    expect(await ask('nightly')).toMatchObject({
      field: 'runKey',
      hint: matching(/Pass runKey of the gate/),
    })
    expect(await ask(`${repo}:pr-7:base-ab:head-${head}`)).toMatchObject({ field: 'baseSha' })
    expect(await ask(claim, { type: 'Not a type' })).toMatchObject({ field: 'type' })
  })

  it('if there are no credentials', async () => {
    const { github: _github, ...withoutGitHub } = {
      onStoreError: 'open',
      log,
      github: null,
    } as const
    const holdfast = await openHoldfast({ databaseUrl: away }, withoutGitHub)
    opened.push(holdfast)
    const error = await rejectionOf(holdfast.ensureNotPublished(claim))
    expect(error).toMatchObject({ code: 'github_access', hint: matching(/github: \{ token \}/) })
  })

  it.each([
    ['both', { token, appId: '12', privateKey: appKeyPem }, /either a token/],
    ['neither', {}, /either a token/],
    ['half an App', { appId: '12' }, /invalid privateKey/],
    ['a token with a line end', { token: `${token}\n${token}` }, /invalid token/],
    ['a misspelt field', { tokens: token }, /unknown field "tokens"/],
    ['a key that is none', { appId: '12', privateKey: token }, /invalid privateKey/],
  ])('if the credentials are %s, without showing them', async (_what, access, message) => {
    const error = await rejectionOf(openAway({}, { github: access as never }))
    expect(error).toMatchObject({ code: 'github_access', message: matching(message) })
    const shown = JSON.stringify([String(error), error])
    expect(shown).not.toContain(token)
    expect(shown).not.toContain('BEGIN')
  })
})

describe('a store that is down at the start', () => {
  it('is an error, unless the program chose to work without it', async () => {
    const error = await rejectionOf(openHoldfast({ databaseUrl: away }))
    expect(error).toMatchObject({ name: 'StoreUnavailableError' })
  })

  it('closes the gates that need it, and ends with close', async () => {
    const holdfast = await openAway()
    expect(await holdfast.checkAndClaimRun(claim, { onStoreError: 'closed' })).toMatchObject({
      shouldProcess: false,
      reason: 'store-error',
    })
    await holdfast.close()
    const error = await rejectionOf(holdfast.checkAndClaimRun(claim))
    expect(error).toMatchObject({ code: 'closed' })
  })
})
