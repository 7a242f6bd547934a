// Goal: from a routed event to the claim it makes: whose commits, whose time, whose word; and that
// a question GitHub does not answer now is asked again later, not decided.
import { describe, expect, it } from 'vitest'
import { bot, newThread, person, shaOf } from '../../test/intake/payloads.ts'
import type { RunTypeConfig } from '../config.ts'
import type { Claim } from '../domain/claim.ts'
import type { Delivery } from '../domain/outbox/delivery.ts'
import type { Run } from '../domain/run.ts'
import { unannounced } from '../domain/run.ts'
import type { Subject } from '../domain/subject.ts'
import type { GitHub, RoleAnswer } from '../github.ts'
import type { PullRequestHead } from '../head-source.ts'
import { toClaim } from '../runs/claim-request.ts'
import { withTypeDefaults } from '../settings/type-defaults.ts'
import type { WebhookAct } from '../store.ts'
import { ActMaker } from './acts.ts'
import { LookFailed } from './github-questions.ts'
import { readEvent, type WebhookEvent } from './webhook-event.ts'

const now = Date.UTC(2026, 0, 1)
const policy = {
  announcement: unannounced,
  onNewer: 'supersede',
  attempts: 3,
  timeoutMs: 1,
  pendingTimeoutMs: 1,
} as const

interface Known {
  readonly types?: Readonly<Record<string, RunTypeConfig>>
  readonly github?: Pick<GitHub, 'look'> | null
  readonly role?: () => Promise<RoleAnswer>
  readonly runs?: readonly Partial<Run>[]
  readonly subjects?: readonly Partial<Subject>[]
  /** Check runs of the runs. */
  readonly shown?: readonly Partial<Delivery>[]
}

function makerOf(known: Known = {}) {
  const { types, github = null, role, runs = [], subjects = [], shown = [] } = known
  const learnt: unknown[] = []
  const maker = new ActMaker({
    types: withTypeDefaults(types === undefined ? {} : { runs: types }).runs,
    store: {
      now: () => now,
      listRuns: async () => ({ items: runs as readonly Run[], nextCursor: null }),
      run: async () => null,
      subjectsOf: async () => subjects as readonly Subject[],
      catchUp: { heardHeads: async () => [] },
      outbox: {
        list: async ({ runId }) => {
          const items = shown.filter((delivery) => delivery.runId === runId)
          return { items: items as readonly Delivery[], nextCursor: null }
        },
      },
      learnRepository: async (...repository) => void learnt.push(repository),
    },
    github,
    roles: role === undefined ? null : { roleOf: role },
    account: { current: () => null, looked: Promise.resolve() },
    toClaim: (request, actor) =>
      toClaim(request, { policy, lease: null, leaseMs: 1000, actor, now }),
  })
  return { maker, learnt }
}

const acts = (known: Known, name: string, payload: object) =>
  actsBy(makerOf(known).maker, readEvent('guid', name, payload))

async function actsBy(maker: ActMaker, event: WebhookEvent) {
  return await maker.actsFor(event, await maker.routesFor(event))
}

const reasonOf = (act: WebhookAct) => (act.act === 'note' ? act.outcome.reason : act.act)

async function claimOf(known: Known, name: string, payload: object): Promise<Claim> {
  const [act] = await acts(known, name, payload)
  if (act?.act !== 'claim') throw new Error(`no claim but ${JSON.stringify(act)}`)
  return act.claim
}

const thread = newThread()
const commenting: Known['types'] = { chat: { on: { issue_comment: ['created'] } } }
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

  it('of a time ahead of ours is claimed without one', async () => {
    const { payload } = thread.on('opened', 'a', 1)
    const pull = { ...(payload as { pull_request: object }).pull_request }
    const ahead = { ...payload, pull_request: { ...pull, updated_at: '2026-01-01T00:06:00Z' } }
    expect((await claimOf({}, 'pull_request', ahead)).eventAt).toBeNull()
  })

  it('asked for again is a rerun that makes no head', async () => {
    const asked = thread.on('review_requested', 'a', 2).payload
    const claim = await claimOf({}, 'pull_request', asked)
    expect(claim).toMatchObject({ rerun: true, headMaking: false })
  })

  it('of a bot is a claim that says why not', async () => {
    const { payload } = thread.on('opened', 'a', 1, { user: bot('renovate[bot]') })
    const claim = await claimOf({}, 'pull_request', payload)
    expect(claim).toMatchObject({ skipReason: 'bot author', headMaking: true })
  })

  it('teaches the repository’s id, and when GitHub called it so', async () => {
    const { maker, learnt } = makerOf()
    const { payload } = thread.on('opened', 'a', 1)
    const event = readEvent('g', 'pull_request', payload)
    await actsBy(maker, event)
    const { repo, repository } = thread
    expect(learnt).toEqual([[repo, repository.id, event.eventAt, 'github']])
    const pushed = { ...repository, pushed_at: now / 1000 }
    await actsBy(maker, readEvent('g', 'pull_request', { ...payload, repository: pushed }))
    await actsBy(maker, readEvent('g', 'reconcile', payload))
    expect(learnt.slice(1)).toEqual([
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
    const { maker } = makerOf({})
    const { event: name, payload } = thread.on(action, 'a', 1, { state })
    const event = readEvent('guid', name, payload)
    const [act] = await maker.actsFor(event, await maker.routesFor(event), seen)
    return act
  }
  const ignored = (reason: string) => ({ act: 'note', outcome: { result: 'ignored', reason } })

  it('starts nothing on a closed one, and ends nothing on an open one', async () => {
    const reopened = await actsOn('reopened', 'open', seenAs('closed', 'a'))
    expect(reopened).toMatchObject(ignored('closed-since'))
    const closed = await actsOn('closed', 'closed', seenAs('open', 'a'))
    expect(closed).toMatchObject(ignored('reopened-since'))
    expect(await actsOn('closed', 'closed', seenAs('closed', 'b'))).toMatchObject({ act: 'cancel' })
  })

  it('is claimed for the head GitHub names, as its own only if it is', async () => {
    const own = await actsOn('synchronize', 'open', seenAs('open', 'a'))
    expect(own).toMatchObject({ claim: { headSha: shaOf('a'), headMaking: true } })
    const other = await actsOn('synchronize', 'open', seenAs('open', 'b'))
    expect(other).toMatchObject({ claim: { headSha: shaOf('b'), headMaking: false } })
  })

  it('is claimed for the base GitHub names where that has a run, else for its own', async () => {
    const seen = { ...seenAs('open', 'a'), baseSha: shaOf('dev') }
    const commits = { headSha: shaOf('a'), baseSha: shaOf('dev') }
    const claimed = async (runs: readonly Partial<Run>[]) => {
      const { maker } = makerOf({ runs })
      const event = readEvent('guid', 'pull_request', thread.on('synchronize', 'a', 1).payload)
      const [act] = await maker.actsFor(event, await maker.routesFor(event), seen)
      return act?.act === 'claim' ? act.claim : act
    }
    expect(await claimed([{ pr: 7, ...commits }])).toMatchObject({ ...commits, headMaking: false })
    const own = { headSha: shaOf('a'), baseSha: shaOf('main'), headMaking: true }
    expect(await claimed([])).toMatchObject(own)
    expect(await claimed([{ pr: 7, ...own }])).toMatchObject(own)
  })

  it('is no word on other commits where somebody with rights caused it', async () => {
    const on = { pull_request: ['labeled', 'synchronize', 'review_requested'] }
    const asked: string[] = []
    const role = async (): Promise<RoleAnswer> => {
      asked.push('role')
      return 'write'
    }
    const { maker } = makerOf({
      types: { checked: { on, by: 'write' }, open: { on } },
      role,
    })
    const decided = async (action: string, head: string) => {
      const { event: name, payload } = thread.on(action, 'a', 1)
      const event = readEvent('guid', name, payload)
      const seen = seenAs('open', head)
      const made = await maker.actsFor(event, await maker.routesFor(event), seen)
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

  it('cannot be asked about without GitHub, and then arrival decides', async () => {
    const event = readEvent('guid', 'pull_request', thread.on('opened', 'a', 1).payload)
    expect(await makerOf({}).maker.seePull(event)).toBeNull()
  })
})

describe('a comment', () => {
  const pushedAt = Date.UTC(2025, 11, 30)
  const commits = { headSha: shaOf('h'), baseSha: shaOf('b') }
  const found = { ...commits, state: 'open', updatedAt: now, pushedAt } as const

  it('is claimed for the head GitHub names, and makes no head itself', async () => {
    const github = { look: async () => found }
    const claim = await claimOf({ types: commenting, github }, 'issue_comment', comment)
    expect(claim).toMatchObject({ pr: 7, headSha: shaOf('h'), headMaking: false })
  })

  it('asks by GitHub’s id of the repository, which the event brought', async () => {
    const asked: unknown[] = []
    const look = async (place: unknown) => {
      asked.push(place)
      return found
    }
    const repository = { id: 77, full_name: 'acme/widgets' }
    const payload = { ...comment, repository }
    await claimOf({ types: commenting, github: { look } }, 'issue_comment', payload)
    await makerOf({ github: { look } }).maker.seePull(readEvent('guid', 'issue_comment', payload))
    const place = { repo: 'acme/widgets', repoGithubId: 77 }
    expect(asked).toEqual([place, place])
  })

  it('is claimed for our newest run where GitHub cannot be asked or knows nothing', async () => {
    const orderAt = Date.UTC(2025, 11, 30)
    const runs = [{ pr: 7, baseSha: shaOf('b'), headSha: shaOf('own'), orderAt }]
    for (const github of [null, { look: async () => null }]) {
      const claim = await claimOf({ types: commenting, github, runs }, 'issue_comment', comment)
      expect(claim.headSha).toBe(shaOf('own'))
    }
  })

  it.each([
    ['may have been pushed after it', { ...found, pushedAt: now }],
    ['was pushed nobody knows when', { ...found, pushedAt: null }],
  ])('is refused for a head that %s', async (_what, head) => {
    const github = { look: async () => head }
    expect(await acts({ types: commenting, github }, 'issue_comment', comment)).toMatchObject([
      { act: 'refuse', claim: { headSha: shaOf('h') }, comment: { id: 3, author: 'mona' } },
    ])
  })

  it.each([
    ['claim', 'a head seen so lately that the inbox would know of another', Date.UTC(2025, 11, 30)],
    ['refuse', 'a head that may have been replaced since', Date.UTC(2025, 11, 20)],
  ])('is a %s where a run knows %s', async (act, _what, headAt) => {
    const github = { look: async () => ({ ...found, pushedAt: now }) }
    const known = { types: commenting, github, subjects: [{ headSha: shaOf('h'), headAt }] }
    expect(await acts(known, 'issue_comment', comment)).toMatchObject([{ act }])
  })

  it('is refused for our newest run where nobody knows since when it is the head', async () => {
    const runs = [{ pr: 7, baseSha: shaOf('b'), headSha: shaOf('own'), orderAt: null }]
    expect(await acts({ types: commenting, runs }, 'issue_comment', comment)).toMatchObject([
      { act: 'refuse', claim: { headSha: shaOf('own') } },
    ])
  })

  it('edited later counts from when it was written', async () => {
    const edited = { ...comment.comment, updated_at: '2025-12-31T12:00:00Z' }
    const github = { look: async () => ({ ...found, pushedAt: Date.UTC(2025, 11, 31, 6) }) }
    const types = { chat: { on: { issue_comment: ['edited'] } } }
    const payload = { ...comment, action: 'edited', comment: edited }
    expect(await acts({ types, github }, 'issue_comment', payload)).toMatchObject([
      { act: 'refuse' },
    ])
  })

  it('is ignored when nobody knows its head', async () => {
    expect(await acts({ types: commenting }, 'issue_comment', comment)).toEqual([
      {
        act: 'note',
        outcome: { type: 'chat', result: 'ignored', reason: 'head-unknown', runIds: [] },
      },
    ])
  })

  it('asks once for all types, and not at all when GitHub was just asked', async () => {
    let asked = 0
    const github = { look: async () => ((asked += 1), found) }
    const types = { chat: { on: { issue_comment: [] } }, talk: { on: { issue_comment: [] } } }
    const { maker } = makerOf({ types, github })
    const event = readEvent('guid', 'issue_comment', comment)
    const routes = await maker.routesFor(event)
    const claims = [{ claim: { headSha: shaOf('h') } }, { claim: { headSha: shaOf('h') } }]
    expect(await maker.actsFor(event, routes)).toMatchObject(claims)
    expect(asked).toBe(1)
    expect(await maker.actsFor(event, routes, found)).toMatchObject(claims)
    expect(asked).toBe(1)
  })

  it('waits while GitHub does not answer', async () => {
    const github = { look: () => Promise.reject(new LookFailed(new Error('502'))) }
    const asked = acts({ types: commenting, github }, 'issue_comment', comment)
    await expect(asked).rejects.toBeInstanceOf(LookFailed)
  })
})

describe('a push and a check', () => {
  it('a push is a job of its branch', async () => {
    const push = {
      ref: 'refs/heads/main',
      after: shaOf('a'),
      repository: thread.repository,
      sender: person('mona'),
    }
    expect(await claimOf({ types: { build: { on: { push: [] } } } }, 'push', push)).toMatchObject({
      type: 'build',
      key: `${thread.repo}:push:refs/heads/main:sha-${shaOf('a')}`,
      subjectName: 'refs/heads/main',
      headSha: shaOf('a'),
      pr: null,
    })
  })

  it('a check is our run of its commit', async () => {
    const payload = {
      action: 'rerequested',
      check_run: { name: 'holdfast/review', head_sha: shaOf('own') },
      repository: thread.repository,
      sender: person('mona'),
    }
    const runs = [{ pr: 9, baseSha: shaOf('b'), headSha: shaOf('own') }]
    expect(await claimOf({ runs }, 'check_run', payload)).toMatchObject({ pr: 9, rerun: true })
    expect(await acts({}, 'check_run', payload)).toMatchObject([
      { act: 'note', outcome: { reason: 'head-unknown' } },
    ])
  })
})

describe('a check of a commit that two pull requests have', () => {
  const commits = { baseSha: shaOf('b'), headSha: shaOf('own') }
  const runs = [
    { id: 'run_six', pr: 6, ...commits },
    { id: 'run_five', pr: 5, ...commits },
  ]
  const shown = [
    { runId: 'run_six', providerId: '12', markerKey: 'key of six' },
    { runId: 'run_five', providerId: '11', markerKey: 'key of five' },
    { runId: 'run_five', providerId: '13', markerKey: 'repeated' },
  ]
  const pressed = async (check: object): Promise<number | null> => {
    const payload = {
      action: 'rerequested',
      check_run: { name: 'holdfast/review', head_sha: shaOf('own'), ...check },
      repository: thread.repository,
      sender: person('mona'),
    }
    return (await claimOf({ runs, shown }, 'check_run', payload)).pr
  }

  it('is run again for the pull request whose check it is', async () => {
    expect(await pressed({ id: 11, external_id: 'key of five' })).toBe(5)
    expect(await pressed({ id: 12, external_id: 'key of six' })).toBe(6)
    expect(await pressed({ id: 13, external_id: 'repeated' })).toBe(5)
  })

  it('goes by its key where a copy of it was pressed, and by its id where both have one key', async () => {
    expect(await pressed({ id: 99, external_id: 'key of five' })).toBe(5)
    expect(await pressed({ id: 11, external_id: 'key of six' })).toBe(5)
  })

  it('is run again for the newest where nobody knows it', async () => {
    expect(await pressed({ id: 99, external_id: 'unknown' })).toBe(6)
    expect(await pressed({})).toBe(6)
  })
})

describe('a type that asks for a role', () => {
  const types: Known['types'] = { careful: { on: { pull_request: ['opened'] }, by: 'write' } }
  const { payload } = thread.on('opened', 'a', 1)

  it('is claimed for who has it, and noted for who has not', async () => {
    const write = { types, role: async () => 'write' as const }
    expect(await acts(write, 'pull_request', payload)).toMatchObject([{ act: 'claim' }])
    const read = { types, role: async () => 'read' as const }
    expect(await acts(read, 'pull_request', payload)).toMatchObject([
      { act: 'note', outcome: { result: 'ignored', reason: 'sender-role' } },
    ])
  })

  it('waits while nobody can say', async () => {
    const role = () => Promise.reject(new LookFailed(new Error('502')))
    await expect(acts({ types, role }, 'pull_request', payload)).rejects.toBeInstanceOf(LookFailed)
  })
})
