// Goal: a routed event becomes a claim with the right commits, time and sender. If GitHub does not
// answer a question now, it is asked again later, and nothing is decided.
import { describe, expect, it } from 'vitest'
import {
  acts,
  actsBy,
  claimOf,
  plannerOf,
  now,
  reasonOf,
  type ActsInput,
} from '../../test/intake/acts-world.ts'
import { bot, newThread, person, shaOf } from '../../test/intake/payloads.ts'
import type { Run } from '../domain/run.ts'
import type { RoleAnswer } from '../github.ts'
import type { PullRequestHead } from '../head-source.ts'
import { GitHubNotAsked } from './asking/github-questions.ts'
import { readEvent } from './events/webhook-event.ts'

const thread = newThread()
const commenting: ActsInput['types'] = { chat: { on: { issue_comment: ['created'] } } }
const comment = {
  action: 'created',
  issue: { number: 7, pull_request: {}, updated_at: '2025-12-31T00:00:00Z' },
  repository: thread.repository,
  comment: { id: 3, created_at: '2025-12-31T00:00:00Z', user: person('mona') },
  sender: person('mona'),
}

describe('a pull request', () => {
  it('is claimed for its own commits, at its own time, by its sender', async () => {
    const pushed = thread.on('synchronize', 'b', 2, { more: { before: shaOf('a') } })
    expect(await claimOf({}, 'pull_request', pushed.payload)).toMatchObject({
      type: 'review',
      repo: thread.repo,
      pr: 7,
      baseSha: shaOf('main'),
      headSha: shaOf('b'),
      beforeSha: shaOf('a'),
      eventAt: Date.UTC(2024, 0, 1, 0, 0, 2),
      webhookId: 'guid',
      event: 'pull_request',
      action: 'synchronize',
      sender: 'mona',
      actor: 'github:mona',
      headMaking: true,
      rerun: false,
      skipReason: null,
      lease: null,
    })
  })

  it('with a time ahead of ours is claimed without a time', async () => {
    const { payload } = thread.on('opened', 'a', 1)
    const pull = { ...(payload as { pull_request: object }).pull_request }
    const ahead = { ...payload, pull_request: { ...pull, updated_at: '2026-01-01T00:06:00Z' } }
    expect((await claimOf({}, 'pull_request', ahead)).eventAt).toBeNull()
  })

  it('with a review request is a rerun that makes no head', async () => {
    const asked = thread.on('review_requested', 'a', 2).payload
    const claim = await claimOf({}, 'pull_request', asked)
    expect(claim).toMatchObject({ rerun: true, headMaking: false })
  })

  it('of a bot is a claim with a reason to skip', async () => {
    const { payload } = thread.on('opened', 'a', 1, { user: bot('renovate[bot]') })
    const claim = await claimOf({}, 'pull_request', payload)
    expect(claim).toMatchObject({ skipReason: 'bot author', headMaking: true })
  })

  it('teaches the repository’s id, and the time at which it had this name', async () => {
    const { planner, learned } = plannerOf()
    const { payload } = thread.on('opened', 'a', 1)
    const event = readEvent('g', 'pull_request', payload)
    await actsBy(planner, event)
    const { repo, repository } = thread
    expect(learned).toEqual([[repo, repository.id, event.eventAt, 'github']])
    const pushed = { ...repository, pushed_at: now / 1000 }
    await actsBy(planner, readEvent('g', 'pull_request', { ...payload, repository: pushed }))
    await actsBy(planner, readEvent('g', 'reconcile', payload))
    expect(learned.slice(1)).toEqual([
      [repo, repository.id, now, 'github'],
      [repo, repository.id, null, 'github'],
    ])
  })
})

describe('an event of a pull request that GitHub was asked about', () => {
  const thread = newThread()
  const seenAs = (state: 'open' | 'closed', head: string) =>
    ({
      headSha: shaOf(head),
      baseSha: shaOf('main'),
      state,
      updatedAt: now,
      pushedAt: null,
    }) as const
  const actsOn = async (action: string, state: 'open' | 'closed', seen: PullRequestHead) => {
    const { planner } = plannerOf({})
    const { event: name, payload } = thread.on(action, 'a', 1, { state })
    const event = readEvent('guid', name, payload)
    const [act] = await planner.actsFor(event, await planner.routesFor(event), seen)
    return act
  }
  const ignored = (reason: string) => ({ act: 'note', outcome: { result: 'ignored', reason } })

  it('starts nothing on a closed pull request, and cancels nothing on an open one', async () => {
    const reopened = await actsOn('reopened', 'open', seenAs('closed', 'a'))
    expect(reopened).toMatchObject(ignored('closed-since'))
    const closed = await actsOn('closed', 'closed', seenAs('open', 'a'))
    expect(closed).toMatchObject(ignored('reopened-since'))
    expect(await actsOn('closed', 'closed', seenAs('closed', 'b'))).toMatchObject({ act: 'cancel' })
  })

  it('is claimed for GitHub’s head, and makes a head only if that is its own', async () => {
    const own = await actsOn('synchronize', 'open', seenAs('open', 'a'))
    expect(own).toMatchObject({ claim: { headSha: shaOf('a'), headMaking: true } })
    const other = await actsOn('synchronize', 'open', seenAs('open', 'b'))
    expect(other).toMatchObject({ claim: { headSha: shaOf('b'), headMaking: false } })
  })

  it('is claimed for GitHub’s base if that has a run, otherwise for its own', async () => {
    const seen = { ...seenAs('open', 'a'), baseSha: shaOf('dev') }
    const commits = { headSha: shaOf('a'), baseSha: shaOf('dev') }
    const claimed = async (runs: readonly Partial<Run>[]) => {
      const { planner } = plannerOf({ runs })
      const event = readEvent('guid', 'pull_request', thread.on('synchronize', 'a', 1).payload)
      const [act] = await planner.actsFor(event, await planner.routesFor(event), seen)
      return act?.act === 'claim' ? act.claim : act
    }
    expect(await claimed([{ pr: 7, ...commits }])).toMatchObject({ ...commits, headMaking: false })
    const own = { headSha: shaOf('a'), baseSha: shaOf('main'), headMaking: true }
    expect(await claimed([])).toMatchObject(own)
    expect(await claimed([{ pr: 7, ...own }])).toMatchObject(own)
  })

  it('does not start a type with a role on commits that its sender did not see', async () => {
    const on = { pull_request: ['labeled', 'synchronize', 'review_requested'] }
    const asked: string[] = []
    const role = async (): Promise<RoleAnswer> => {
      asked.push('role')
      return 'write'
    }
    const { planner } = plannerOf({
      types: { checked: { on, by: 'write' }, open: { on } },
      role,
    })
    const decided = async (action: string, head: string) => {
      const { event: name, payload } = thread.on(action, 'a', 1)
      const event = readEvent('guid', name, payload)
      const seen = seenAs('open', head)
      const made = await planner.actsFor(event, await planner.routesFor(event), seen)
      return made.map((act) => (act.act === 'claim' ? act.claim.headSha : reasonOf(act)))
    }
    const since = 'head-changed-since'
    expect(await decided('labeled', 'b')).toEqual([since, since])
    expect(await decided('review_requested', 'b')).toEqual([since, since])
    expect(await decided('synchronize', 'b')).toEqual([since, shaOf('b')])
    expect(asked).toEqual([])
    expect(await decided('labeled', 'a')).toEqual([shaOf('a'), shaOf('a')])
    expect(asked).toEqual(['role'])
  })

  it('cannot be checked without GitHub, so the order of arrival decides', async () => {
    const event = readEvent('guid', 'pull_request', thread.on('opened', 'a', 1).payload)
    expect(await plannerOf({}).planner.askPull(event)).toBeNull()
  })
})

describe('a comment', () => {
  const pushedAt = Date.UTC(2025, 11, 30)
  const commits = { headSha: shaOf('h'), baseSha: shaOf('b') }
  const found = { ...commits, state: 'open', updatedAt: now, pushedAt } as const

  it('is claimed for the head that GitHub names, and makes no head itself', async () => {
    const github = { headOf: async () => found }
    const claim = await claimOf({ types: commenting, github }, 'issue_comment', comment)
    expect(claim).toMatchObject({ pr: 7, headSha: shaOf('h'), headMaking: false })
  })

  it('is asked about by the repository’s GitHub id, which the event contains', async () => {
    const asked: unknown[] = []
    const look = async (place: unknown) => {
      asked.push(place)
      return found
    }
    const repository = { id: 77, full_name: 'acme/widgets' }
    const payload = { ...comment, repository }
    await claimOf({ types: commenting, github: { headOf: look } }, 'issue_comment', payload)
    await plannerOf({ github: { headOf: look } }).planner.askPull(
      readEvent('guid', 'issue_comment', payload),
    )
    const place = { repo: 'acme/widgets', repoGithubId: 77 }
    expect(asked).toEqual([place, place])
  })

  it('is claimed for our newest run if GitHub cannot be asked or does not know it', async () => {
    const orderAt = Date.UTC(2025, 11, 30)
    const runs = [{ pr: 7, baseSha: shaOf('b'), headSha: shaOf('own'), orderAt }]
    for (const github of [null, { headOf: async () => null }]) {
      const claim = await claimOf({ types: commenting, github, runs }, 'issue_comment', comment)
      expect(claim.headSha).toBe(shaOf('own'))
    }
  })

  it.each([
    ['may have been pushed after it', { ...found, pushedAt: now }],
    ['was pushed at an unknown time', { ...found, pushedAt: null }],
  ])('is refused for a head that %s', async (_what, head) => {
    const github = { headOf: async () => head }
    expect(await acts({ types: commenting, github }, 'issue_comment', comment)).toMatchObject([
      { act: 'refuse', claim: { headSha: shaOf('h') }, comment: { id: 3, author: 'mona' } },
    ])
  })

  it.each([
    ['claim', 'a head so recent that the inbox would contain a newer one', Date.UTC(2025, 11, 30)],
    ['refuse', 'a head that may have been replaced later', Date.UTC(2025, 11, 20)],
  ])('leads to a %s if a run has %s', async (act, _what, headAt) => {
    const github = { headOf: async () => ({ ...found, pushedAt: now }) }
    const given = { types: commenting, github, subjects: [{ headSha: shaOf('h'), headAt }] }
    expect(await acts(given, 'issue_comment', comment)).toMatchObject([{ act }])
  })

  it('is refused for our newest run if it is unknown since when that is the head', async () => {
    const runs = [{ pr: 7, baseSha: shaOf('b'), headSha: shaOf('own'), orderAt: null }]
    expect(await acts({ types: commenting, runs }, 'issue_comment', comment)).toMatchObject([
      { act: 'refuse', claim: { headSha: shaOf('own') } },
    ])
  })

  it('that was edited counts from the time it was written', async () => {
    const edited = { ...comment.comment, updated_at: '2025-12-31T12:00:00Z' }
    const github = { headOf: async () => ({ ...found, pushedAt: Date.UTC(2025, 11, 31, 6) }) }
    const types = { chat: { on: { issue_comment: ['edited'] } } }
    const payload = { ...comment, action: 'edited', comment: edited }
    expect(await acts({ types, github }, 'issue_comment', payload)).toMatchObject([
      { act: 'refuse' },
    ])
  })

  it('is ignored when its head is unknown', async () => {
    expect(await acts({ types: commenting }, 'issue_comment', comment)).toEqual([
      {
        act: 'note',
        outcome: { type: 'chat', result: 'ignored', reason: 'head-unknown', runIds: [] },
      },
    ])
  })

  it('asks once for all types, and not at all when GitHub was just asked', async () => {
    let asked = 0
    const github = { headOf: async () => ((asked += 1), found) }
    const types = { chat: { on: { issue_comment: [] } }, talk: { on: { issue_comment: [] } } }
    const { planner } = plannerOf({ types, github })
    const event = readEvent('guid', 'issue_comment', comment)
    const routes = await planner.routesFor(event)
    const claims = [{ claim: { headSha: shaOf('h') } }, { claim: { headSha: shaOf('h') } }]
    expect(await planner.actsFor(event, routes)).toMatchObject(claims)
    expect(asked).toBe(1)
    expect(await planner.actsFor(event, routes, found)).toMatchObject(claims)
    expect(asked).toBe(1)
  })

  it('waits while GitHub does not answer', async () => {
    const github = { headOf: () => Promise.reject(new GitHubNotAsked(new Error('502'))) }
    const asked = acts({ types: commenting, github }, 'issue_comment', comment)
    await expect(asked).rejects.toBeInstanceOf(GitHubNotAsked)
  })
})

describe('a type that requires a role', () => {
  const types: ActsInput['types'] = { careful: { on: { pull_request: ['opened'] }, by: 'write' } }
  const { payload } = thread.on('opened', 'a', 1)

  it('is claimed for a sender with the role, and ignored for a sender without it', async () => {
    const write = { types, role: async () => 'write' as const }
    expect(await acts(write, 'pull_request', payload)).toMatchObject([{ act: 'claim' }])
    const read = { types, role: async () => 'read' as const }
    expect(await acts(read, 'pull_request', payload)).toMatchObject([
      { act: 'note', outcome: { result: 'ignored', reason: 'sender-role' } },
    ])
  })

  it('waits while GitHub does not answer', async () => {
    const role = () => Promise.reject(new GitHubNotAsked(new Error('502')))
    await expect(acts({ types, role }, 'pull_request', payload)).rejects.toBeInstanceOf(
      GitHubNotAsked,
    )
  })
})
