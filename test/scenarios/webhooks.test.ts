/**
 * Goal: a GitHub webhook becomes exactly one run or is decided with a reason, however it is
 * repeated, changed on the way or sent out of order.
 * Method: one real server without a configuration for all tests, which use different repositories.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bot, newThread, person, shaOf } from '../intake/payloads.ts'
import { signed, webhookSecret } from '../intake/webhook.ts'
import { Hooks, hookEnv } from './hooks.ts'
import { databases, type ServerData } from './server-data.ts'
import { Server } from './server.ts'

const otherSecret = 'the-secret-that-comes-after'

describe.each(databases)('webhooks on $name', ({ makeData }) => {
  let serverData: ServerData
  let server: Server
  let hooks: Hooks
  beforeAll(async () => {
    serverData = await makeData()
    server = await Server.start(serverData, {
      GITHUB_WEBHOOK_SECRET: `${webhookSecret},${otherSecret}`,
    })
    hooks = new Hooks(server)
  }, 60_000)
  afterAll(async () => {
    await server.kill()
    await serverData.remove()
  })
  const stored = async (guid: string) => (await hooks.inbox(`webhook_id=${guid}`)).length

  it('a signed trigger is 202 and one run; again it is 200 with that run (W1)', async () => {
    const thread = newThread()
    const webhook = { ...thread.on('opened', 'a', 1), guid: randomUUID() }
    const first = await hooks.send(webhook)
    expect(first).toMatchObject({ status: 202, body: { decision: 'accepted', reason: null } })
    const again = await hooks.send(webhook)
    const [run, ...others] = await hooks.runs(thread.repo)
    expect(others).toEqual([])
    expect(run).toMatchObject({ state: 'pending', type: 'review', head_sha: shaOf('a') })
    expect(again).toMatchObject({
      status: 200,
      body: { decision: 'duplicate', inbox_id: first.body.inbox_id, run_ids: [run?.id] },
    })
    expect(await hooks.auditCounts(webhook.guid)).toEqual({
      'webhook.received': 1,
      'webhook.duplicate': 1,
      'webhook.processed': 1,
    })
  })

  it('twenty at once of one delivery are one run (W2)', async () => {
    const thread = newThread()
    const webhook = { ...thread.on('opened', 'a', 1), guid: randomUUID() }
    const answers = await Promise.all(Array.from({ length: 20 }, () => hooks.send(webhook)))
    const statuses = answers.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([...Array.from({ length: 19 }, () => 200), 202])
    await hooks.decided(webhook.guid)
    expect(await hooks.runs(thread.repo)).toHaveLength(1)
    const counts = await hooks.auditCounts(webhook.guid)
    expect(counts).toMatchObject({ 'webhook.received': 1, 'webhook.duplicate': 19 })
  })

  it('two GUIDs of one event are one run (W4)', async () => {
    const thread = newThread()
    const label = { more: { label: { name: 'holdfast' } } }
    const first = await hooks.settle(thread.on('opened', 'a', 1, label))
    const second = await hooks.send(thread.on('opened', 'a', 1, label))
    expect(second).toMatchObject({
      status: 200,
      body: { decision: 'duplicate', reason: 'same-event', run_ids: first.run_ids },
    })
    expect(second.body.inbox_id).not.toBe(first.id)
    expect(await hooks.entry(second.body.inbox_id)).toMatchObject({ duplicate_of: first.id })
    const other = { more: { label: { name: 'another' } } }
    expect((await hooks.send(thread.on('opened', 'a', 1, other))).status).toBe(202)
    expect(await hooks.runs(thread.repo)).toHaveLength(1)
  })

  it('nothing is stored with a wrong signature; a right one works (scenario 1, W3)', async () => {
    const thread = newThread()
    const right = signed({ ...thread.on('opened', 'a', 1), guid: randomUUID() })
    const { 'x-hub-signature-256': signature = '', ...bare } = right.headers
    const wrong = signed({ ...thread.on('opened', 'a', 1), secret: 'guess' })
    const refused = [
      await hooks.raw(right.body, bare),
      await hooks.raw(right.body, { ...bare, 'x-hub-signature-256': '' }),
      await hooks.raw(right.body, { ...bare, 'x-hub-signature-256': signature.slice(7) }),
      await hooks.raw(right.body, wrong.headers),
      await hooks.raw(right.body.replace('opened', 'openee'), right.headers),
      await hooks.raw(`${right.body} `, right.headers),
      await hooks.raw('{"broken":', bare),
      await hooks.raw('{"broken":', right.headers),
    ]
    for (const { status, body } of refused) {
      expect([status, body.code]).toEqual([401, 'bad_signature'])
      expect(body.hint).toContain('GITHUB_WEBHOOK_SECRET')
    }
    expect(await stored(right.guid)).toBe(0)
    expect((await hooks.raw(right.body, right.headers)).status).toBe(202)
  })

  it('a body that is not JSON is 400, and its GUID is still free (scenario 2)', async () => {
    const thread = newThread()
    const guid = randomUUID()
    const form = signed({ event: 'pull_request', payload: 'payload=%7B%22a%22%3A1%7D', guid })
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await hooks.raw(form.body, { ...form.headers, ...type })
    expect(answer).toMatchObject({ status: 400, body: { code: 'not_json' } })
    expect(answer.body.hint).toContain('application/json')
    for (const payload of ['{"broken":', '', 'null}', '['.repeat(5000) + ']'.repeat(5000)]) {
      expect((await hooks.send({ event: 'pull_request', payload, guid })).status).toBe(400)
    }
    expect(await stored(guid)).toBe(0)
    expect((await hooks.send({ ...thread.on('opened', 'a', 1), guid })).status).toBe(202)
  })

  it('the signature covers the exact bytes, not their meaning (scenario 3)', async () => {
    const thread = newThread()
    const { payload } = thread.on('opened', 'a', 1)
    const spaced = `\n  ${JSON.stringify(payload, null, 3)}\t\r\n`
    const { headers, body } = signed({ event: 'pull_request', payload: spaced })
    expect((await hooks.raw(JSON.stringify(payload), headers)).status).toBe(401)
    const taken = await hooks.raw(body, headers)
    expect(taken.status).toBe(202)
    await hooks.decided(taken.body.inbox_id)
    expect(await hooks.runs(thread.repo)).toHaveLength(1)
  })

  it('a missing or invalid GitHub header is 400, and nothing is merged (scenario 7)', async () => {
    const [one, two] = [newThread(), newThread()]
    for (const thread of [one, two]) {
      const { headers, body } = signed(thread.on('opened', 'a', 1))
      for (const name of ['x-github-delivery', 'x-github-event']) {
        const { [name]: _left, ...rest } = headers
        expect((await hooks.raw(body, rest)).status).toBe(400)
        expect((await hooks.raw(body, { ...rest, [name]: 'a b' })).status).toBe(400)
      }
      expect(await hooks.runs(thread.repo)).toEqual([])
    }
  })

  it('more than 25 MB is 413, with its length named or not (scenario 4)', async () => {
    const { headers } = signed({ event: 'push', payload: '{}' })
    const bytes = 25 * 1024 * 1024 + 1
    expect(await hooks.flood(0, { ...headers, 'content-length': String(bytes) })).toBe(413)
    expect(await hooks.flood(bytes, { ...headers, 'transfer-encoding': 'chunked' })).toBe(413)
    expect(await stored(headers['x-github-delivery'] ?? '')).toBe(0)
  })

  it('both secrets are valid while one replaces the other', async () => {
    for (const secret of [webhookSecret, otherSecret]) {
      expect((await hooks.send({ ...newThread().on('opened', 'a', 1), secret })).status).toBe(202)
    }
  })

  it('an event that no type listens to is 200 with its reason', async () => {
    expect(await hooks.send({ event: 'ping', payload: { zen: 'Hi.' } })).toMatchObject({
      status: 200,
      body: { decision: 'ignored', reason: 'ping', run_ids: [] },
    })
    for (const payload of [null, 7, 'true', [], {}]) {
      const answer = await hooks.send({ event: 'star', payload: JSON.stringify(payload) })
      expect(answer).toMatchObject({ status: 200, body: { reason: 'no-trigger' } })
    }
  })

  it('our own events start nothing, and a bot’s are skipped (scenario 10)', async () => {
    const own = newThread()
    for (const login of ['holdfast[bot]', 'Holdfast[bot]', 'HOLDFAST[BOT]']) {
      const sent = await hooks.send(own.on('opened', login, 1, { sender: bot(login) }))
      expect(sent).toMatchObject({ status: 200, body: { reason: 'own-account' } })
    }
    expect(await hooks.runs(own.repo)).toEqual([])
    const other = newThread()
    const user = bot('renovate[bot]')
    const skipped = await hooks.settle(other.on('opened', 'a', 1, { user, sender: user }))
    expect(skipped).toMatchObject({ decision: 'ignored', reason: 'bot author' })
    expect(await hooks.runs(other.repo)).toMatchObject([{ state: 'skipped', type: 'review' }])
    const human = newThread()
    await hooks.settle(human.on('opened', 'a', 1, { sender: person('holdfast') }))
    expect(await hooks.runs(human.repo)).toMatchObject([{ state: 'pending' }])
  })
})

describe.each(databases)('a pull request’s life on $name', ({ makeData }) => {
  let serverData: ServerData
  let server: Server
  let hooks: Hooks
  beforeAll(async () => {
    serverData = await makeData()
    server = await Server.start(serverData, hookEnv)
    hooks = new Hooks(server)
  }, 60_000)
  afterAll(async () => {
    await server.kill()
    await serverData.remove()
  })
  const states = async (repo: string) => (await hooks.runs(repo)).map(({ state }) => state)
  /** A worker leases the pending run of this repository and keeps or ends it. */
  const lease = async (repo: string) => {
    const [run] = (await hooks.runs(repo)).filter(({ state }) => state === 'pending')
    return (await server.admin.post('/v1/runs/lease', { worker: 'w', run_id: run?.id })).body
  }

  it('a push supersedes, and one that arrives late is stale', async () => {
    const thread = newThread()
    await hooks.settle(thread.on('opened', 'a', 1))
    const entry = await hooks.settle(
      thread.on('synchronize', 'c', 3, { more: { before: shaOf('b') } }),
    )
    expect(entry.outcomes).toMatchObject([{ result: 'claimed', reason: 'superseded-prior' }])
    const late = await hooks.settle(thread.on('synchronize', 'b', 2))
    expect(late.outcomes).toMatchObject([{ result: 'claimed', reason: 'stale-event' }])
    expect(await states(thread.repo)).toEqual(['superseded', 'pending', 'skipped'])
  })

  it('A → B → A by force-push: A is worked on again, or shown again if finished', async () => {
    const thread = newThread()
    await hooks.settle(thread.on('opened', 'a', 1))
    await hooks.settle(thread.on('synchronize', 'b', 2))
    const back = await hooks.settle(thread.on('synchronize', 'a', 3))
    expect(back.outcomes).toMatchObject([{ reason: 'returned' }])
    expect(await hooks.runs(thread.repo)).toMatchObject([
      { head_sha: shaOf('a'), state: 'pending', round: 2 },
      { head_sha: shaOf('b'), state: 'superseded' },
    ])
    await server.admin.complete(await lease(thread.repo))
    await hooks.settle(thread.on('synchronize', 'b', 4))
    const again = await hooks.settle(thread.on('synchronize', 'a', 5))
    expect(again.outcomes).toMatchObject([{ reason: 'restored' }])
    expect(await states(thread.repo)).toEqual(['succeeded', 'superseded'])
  })

  it('a draft waits until it is ready', async () => {
    const thread = newThread()
    const draft = await hooks.send(thread.on('opened', 'a', 1, { draft: true }))
    expect(draft).toMatchObject({ status: 200, body: { decision: 'ignored', reason: 'draft' } })
    expect(await hooks.runs(thread.repo)).toEqual([])
    await hooks.settle(thread.on('ready_for_review', 'a', 2))
    expect(await states(thread.repo)).toEqual(['pending'])
  })

  it('an edit counts when it changes the base', async () => {
    const thread = newThread()
    await hooks.settle(thread.on('opened', 'a', 1))
    const title = { more: { changes: { title: { from: 'old' } } } }
    expect(await hooks.send(thread.on('edited', 'a', 2, title))).toMatchObject({
      status: 200,
      body: { reason: 'base-unchanged' },
    })
    const changes = { base: { ref: { from: 'main' }, sha: { from: shaOf('main') } } }
    await hooks.settle(thread.on('edited', 'a', 3, { base: 'next', more: { changes } }))
    const runs = await hooks.runs(thread.repo)
    expect(runs.map(({ state }) => state)).toEqual(['superseded', 'pending'])
    expect(runs[1]?.base_sha).toBe(shaOf('next'))
  })

  it('closing it cancels its run, and the worker learns of it at once', async () => {
    const thread = newThread()
    await hooks.settle(thread.on('opened', 'a', 1))
    const held = await lease(thread.repo)
    const beat = server.admin.heartbeat(held, { wait_ms: 30_000 })
    const closed = await hooks.settle(thread.on('closed', 'a', 2, { state: 'closed' }))
    expect(closed.outcomes).toMatchObject([{ result: 'cancelled' }])
    expect(await beat).toMatchObject({ status: 409, body: { code: 'cancelled' } })
    const late = await hooks.settle(thread.on('synchronize', 'b', 1))
    expect(late).toMatchObject({ decision: 'ignored', reason: 'closed-since' })
    expect(await states(thread.repo)).toEqual(['cancelled'])
    const reopened = await hooks.settle(thread.on('reopened', 'a', 3))
    expect(reopened.outcomes).toMatchObject([{ result: 'claimed', reason: 'retry' }])
  })

  it('asking for a review, or for its check again, reruns it', async () => {
    const thread = newThread()
    await hooks.settle(thread.on('opened', 'a', 1))
    const asked = { more: { requested_reviewer: person('holdfast') } }
    const early = await hooks.settle(thread.on('review_requested', 'a', 2, asked))
    expect(early.outcomes).toMatchObject([{ reason: 'duplicate' }])
    await server.admin.complete(await lease(thread.repo))
    // It was requested while the first round was active, so the end of that round starts the next.
    expect(await hooks.runs(thread.repo)).toMatchObject([{ state: 'pending', round: 2 }])
    await server.admin.complete(await lease(thread.repo))
    const again = await hooks.settle(thread.on('review_requested', 'a', 3, asked))
    expect(again.outcomes).toMatchObject([{ reason: 'rerun' }])
    await server.admin.complete(await lease(thread.repo))
    const check = (name: string) => ({
      event: 'check_run',
      payload: {
        action: 'rerequested',
        check_run: { name, head_sha: shaOf('a') },
        repository: thread.repository,
        sender: person('mona'),
      },
    })
    expect((await hooks.settle(check('holdfast/review'))).outcomes).toMatchObject([
      { reason: 'rerun' },
    ])
    expect(await hooks.runs(thread.repo)).toMatchObject([{ state: 'pending', round: 4 }])
  })

  it('a renamed repository is the same pull request under its new name', async () => {
    const thread = newThread()
    await hooks.settle(thread.on('opened', 'a', 1))
    const repository = { ...thread.repository, full_name: `${thread.repository.full_name}-renamed` }
    const renamed = await hooks.settle({
      event: 'repository',
      payload: { action: 'renamed', repository, sender: person('mona') },
    })
    expect(renamed).toMatchObject({ decision: 'ignored', reason: 'repository-renamed' })
    await hooks.settle(thread.on('synchronize', 'b', 2, { repository }))
    const repo = repository.full_name.toLowerCase()
    const all = [...(await hooks.runs(thread.repo)), ...(await hooks.runs(repo))]
    const byId = new Map(all.map((run) => [run.id, run.state]))
    expect([...byId.values()].toSorted()).toEqual(['pending', 'superseded'])
  })

  it('a deleted fork, a deleted account and missing parts are decided with a reason', async () => {
    const thread = newThread()
    const { payload } = thread.on('opened', 'a', 1, { sender: { login: 'ghost' } })
    const { pull_request: pr, ...rest } = payload as { pull_request: { head: object } }
    const fork = { ...rest, pull_request: { ...pr, user: null, head: { ...pr.head, repo: null } } }
    await hooks.settle({ event: 'pull_request', payload: { ...fork, sender: null } })
    expect(await states(thread.repo)).toEqual(['pending'])
    const headless = { ...rest, pull_request: { ...pr, head: null } }
    const entry = await hooks.settle({ event: 'pull_request', payload: headless })
    expect(entry).toMatchObject({ decision: 'ignored', reason: 'incomplete-payload' })
    expect(entry.outcomes[0]?.detail).toBe('pull_request.head.sha is missing')
  })

  it('a replay decides again and starts no second run', async () => {
    const thread = newThread()
    const first = await hooks.settle(thread.on('opened', 'a', 1))
    await server.admin.complete(await lease(thread.repo))
    const url = `/v1/inbox/${first.id}/replay`
    const asked = await server.admin.post(url)
    expect(asked).toMatchObject({ status: 202, body: { id: first.id, state: 'waiting' } })
    const entry = await hooks.decided(first.id)
    expect(entry).toMatchObject({ run_ids: first.run_ids, outcomes: [{ reason: 'duplicate' }] })
    expect(await states(thread.repo)).toEqual(['succeeded'])
    const none = await server.admin.post('/v1/inbox/inb_none/replay')
    expect(none).toMatchObject({ status: 404, body: { code: 'inbox_entry_not_found' } })
  })
})
