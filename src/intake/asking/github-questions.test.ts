// Goal: every question respects a limit that GitHub set, by the store's clock. A question without
// an answer rejects; a refusal is an answer.
import { describe, expect, it } from 'vitest'
import { GitHubError, trouble, type GitHubErrorKind } from '../../github/errors.ts'
import { GitHubQuestions, GitHubNotAsked } from './github-questions.ts'

const storeNow = 1_000_000
/** The process's own clock is an hour ahead of the store's. */
const wallNow = storeNow + 3_600_000
const place = { repo: 'acme/widgets', repoGithubId: 77 }

const refusal = (kind: GitHubErrorKind, until: number | null = null): GitHubError =>
  new GitHubError(trouble(kind, { until }), {
    ...{ route: 'GET /x', status: 400, requestId: '1', githubRequestId: null },
  })

function world(answer: () => Promise<'write'>, identityOf = async () => 'github:app:1') {
  const blocks = new Map<string, number>()
  const asked: unknown[] = []
  const questions = new GitHubQuestions({
    github: {
      ownIdentity: 'github:app',
      identityOf,
      headOf: () => Promise.reject(new Error('not asked here')),
      repositoryNamed: () => Promise.reject(new Error('not asked here')),
      roleOf: (repository, login) => (asked.push([repository, login]), answer()),
    },
    store: {
      now: () => storeNow,
      outbox: {
        blockedUntil: async (identity) => blocks.get(identity) ?? null,
        blockIdentity: async (identity, until) => void blocks.set(identity, until),
      },
    },
    clock: { wallMs: () => wallNow, monotonicMs: () => 0 },
  })
  return { questions, blocks, asked, role: () => questions.roleOf(place, 'mona') }
}

describe('a question', () => {
  it('is answered', async () => {
    const { role, asked } = world(async () => 'write')
    expect(await role()).toBe('write')
    expect(asked).toEqual([[place, 'mona']])
  })

  it('that meets a limit blocks all questions until the limit ends', async () => {
    const limit = refusal('rate_limited', wallNow + 5000)
    const { role, asked, blocks } = world(() => Promise.reject(limit))
    const notBefore = storeNow + 5000
    await expect(role()).rejects.toMatchObject({ name: 'GitHubNotAsked', notBefore })
    expect([...blocks]).toEqual([['github:app:1', notBefore]])
    await expect(role()).rejects.toMatchObject({ name: 'GitHubNotAsked', notBefore })
    expect(asked).toHaveLength(1)
  })

  it('about our identity that meets a limit blocks the App', async () => {
    let askedWho = 0
    const who = () => {
      askedWho += 1
      return Promise.reject(refusal('rate_limited', wallNow + 5000))
    }
    const { role, asked, blocks } = world(async () => 'write', who)
    const notBefore = storeNow + 5000
    await expect(role()).rejects.toMatchObject({ name: 'GitHubNotAsked', notBefore })
    expect([...blocks]).toEqual([['github:app', notBefore]])
    await expect(role()).rejects.toMatchObject({ name: 'GitHubNotAsked', notBefore })
    expect([askedWho, asked]).toEqual([1, []])
  })

  it('is not asked while the identity is blocked', async () => {
    const { role, asked, blocks } = world(async () => 'write')
    blocks.set('github:app:1', storeNow + 1)
    await expect(role()).rejects.toMatchObject({ notBefore: storeNow + 1 })
    expect(asked).toEqual([])
  })

  it('without an answer waits until GitHub’s time, and blocks no other question', async () => {
    const { role, blocks } = world(() => Promise.reject(refusal('unanswered', wallNow + 7000)))
    await expect(role()).rejects.toMatchObject({ notBefore: storeNow + 7000 })
    const { role: plain } = world(() => Promise.reject(new Error('no route')))
    await expect(plain()).rejects.toMatchObject({ name: 'GitHubNotAsked', notBefore: 0 })
    expect(blocks.size).toBe(0)
  })

  it.each([
    ['not_found', /answered 400/],
    ['not_installed', /App is not installed/],
    ['forbidden', /answered 400/],
  ] as const)(
    'that GitHub answers with %s reports that the repository is not visible',
    async (kind, reason) => {
      const { role } = world(() => Promise.reject(refusal(kind)))
      await expect(role()).rejects.toMatchObject({
        name: 'GitHubNotAsked',
        message: expect.stringContaining('GitHub does not show us the repository') as string,
        hidden: expect.stringMatching(reason) as string,
      })
    },
  )

  it.each(['unanswered', 'network', 'unauthorized', 'rate_limited'] as const)(
    'that fails with %s reports nothing about the repository',
    async (kind) => {
      const { role } = world(() => Promise.reject(refusal(kind)))
      await expect(role()).rejects.toMatchObject({ name: 'GitHubNotAsked', hidden: null })
    },
  )

  it('is asked if GitHub refuses us an identity there, but not if that is unknown', async () => {
    const nobody = () => Promise.reject(refusal('not_installed'))
    expect(await world(async () => 'write', nobody).role()).toBe('write')
    const silent = () => Promise.reject(refusal('unanswered'))
    const { role, asked } = world(async () => 'write', silent)
    await expect(role()).rejects.toBeInstanceOf(GitHubNotAsked)
    expect(asked).toEqual([])
  })
})
