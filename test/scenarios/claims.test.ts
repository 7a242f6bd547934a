/**
 * Goal: claiming, superseding and finishing as a caller sees it.
 * Method: one real server per database, real HTTP, every scenario on a pull request of its own.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { at, newPullRequest, sha, type Client } from './client.ts'
import { databases, type ServerData } from './server-data.ts'
import { Server } from './server.ts'

describe.each(databases)('claims over HTTP on $name', ({ makeData }) => {
  let serverData: ServerData
  let server: Server
  let admin: Client
  beforeAll(async () => {
    serverData = await makeData()
    server = await Server.start(serverData)
    admin = server.admin
  }, 60_000)
  afterAll(async () => {
    expect(await server.stop()).toBe(0)
    await serverData.remove()
  })

  it('the first claim of a pair is to be processed (scenario 13)', async () => {
    const pr = newPullRequest()
    const { status, body } = await admin.claim(pr('a'))
    expect(status).toBe(201)
    expect(body).toMatchObject({ should_process: true, reason: 'new', superseded_run_keys: [] })
    expect(body.run).toMatchObject({ state: 'running', attempt: 1, round: 1 })
    expect(body.run_token).toMatch(/^hfr_/)
  })

  it('the same pair by another delivery or action is a duplicate (scenario 14)', async () => {
    const pr = newPullRequest()
    const first = await admin.claim(pr('a', { webhook_id: 'w1', action: 'opened' }))
    for (const over of [{ webhook_id: 'w2' }, { delivery_id: 'w3', action: 'synchronize' }]) {
      const { status, body } = await admin.claim(pr('a', over))
      expect(status).toBe(200)
      expect(body).toMatchObject({ should_process: false, reason: 'duplicate', lease: null })
      expect(body.run_key).toBe(first.body.run_key)
    }
  })

  it('a new head supersedes the old one, whose holder learns of it (scenario 15)', async () => {
    const pr = newPullRequest()
    const old = (await admin.claim(pr('a', { event_at: at(1) }))).body
    const next = await admin.claim(pr('b', { event_at: at(2) }))
    expect(next.status).toBe(201)
    expect(next.body).toMatchObject({ reason: 'superseded-prior' })
    expect(next.body.superseded_run_keys).toEqual([old.run_key])
    const row = await admin.run(old.run.id)
    expect(row).toMatchObject({ state: 'superseded', superseded_by: next.body.run_key })
    const beat = await admin.heartbeat(old)
    expect(beat.status).toBe(409)
    expect(beat.body.code).toBe('superseded')
    expect(beat.headers.get('content-type')).toContain('application/problem+json')
  })

  it('fifty claims of one pair at once: one is processed, none fails (scenario 16)', async () => {
    const pr = newPullRequest()
    const answers = await Promise.all(Array.from({ length: 50 }, () => admin.claim(pr('a'))))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(49)
  })

  it('twenty heads at once: the newest by its event stays active (scenario 17)', async () => {
    const pr = newPullRequest()
    const heads = Array.from({ length: 20 }, (_, n) => n)
    const claims = heads.map((n) => admin.claim(pr(`head ${n}`, { event_at: at(n) })))
    const key = (await Promise.all(claims)).map(({ body }) => body.run_key)[19]
    const { body } = await admin.get(`/v1/runs?key=${encodeURIComponent(key ?? '')}`)
    expect(body.items[0]?.state).toBe('running')
    const listed = await Promise.all(
      heads.slice(0, 19).map(async (n) => {
        const found = await admin.get(`/v1/runs?head_sha=${sha(`head ${n}`)}`)
        return found.body.items[0]?.state
      }),
    )
    expect(listed.every((state) => state === 'superseded' || state === 'skipped')).toBe(true)
  })

  it('a superseded run that completes late changes nothing (scenario 20)', async () => {
    const pr = newPullRequest()
    const first = (await admin.claim(pr('a', { event_at: at(1) }))).body
    await admin.complete(first)
    const late = (await admin.claim(pr('b', { event_at: at(2) }))).body
    expect(late.run.previous).toMatchObject({ run_id: first.run.id, head_sha: sha('a') })
    const next = (await admin.claim(pr('c', { event_at: at(3) }))).body
    const answer = await admin.complete(late)
    expect(answer).toMatchObject({ status: 409, body: { code: 'superseded' } })
    expect((await admin.run(late.run.id)).state).toBe('superseded')
    expect(next.run.previous).toMatchObject({ run_id: first.run.id })
  })

  it('A, B, A: a finished A is shown again, any other starts again (scenario 22)', async () => {
    const finished = newPullRequest()
    await admin.complete((await admin.claim(finished('a', { event_at: at(1) }))).body)
    const between = (await admin.claim(finished('b', { event_at: at(2) }))).body
    const restored = await admin.claim(finished('a', { event_at: at(3) }))
    expect(restored).toMatchObject({ status: 200, body: { reason: 'restored', lease: null } })
    expect((await admin.run(between.run.id)).state).toBe('superseded')

    const unfinished = newPullRequest()
    await admin.claim(unfinished('a', { event_at: at(1) }))
    await admin.claim(unfinished('b', { event_at: at(2) }))
    const returned = await admin.claim(unfinished('a', { event_at: at(3) }))
    expect(returned).toMatchObject({ status: 201, body: { reason: 'returned', run: { round: 2 } } })
  })

  it('a failed run is stored as failed; claimed again, it is round 2 (scenario 23)', async () => {
    const pr = newPullRequest()
    const held = (await admin.claim(pr('a', { webhook_id: 'w1' }))).body
    const failed = await admin.complete(held, 'failed', { error: 'it broke' })
    expect(failed.body).toMatchObject({ state: 'failed', error: { code: 'failed' } })
    const seen = await admin.claim(pr('a', { webhook_id: 'w1' }))
    expect(seen.body).toMatchObject({ reason: 'duplicate', should_process: false })
    const again = await admin.claim(pr('a', { webhook_id: 'w2' }))
    expect(again).toMatchObject({ status: 201, body: { reason: 'retry', run: { round: 2 } } })
  })

  it('finished work may be rerun, and is never refused silently (scenario 24)', async () => {
    const pr = newPullRequest()
    const held = (await admin.claim(pr('a', { event_at: at(1) }))).body
    await admin.complete(held)
    expect((await admin.claim(pr('a'))).body.reason).toBe('duplicate')
    const rerun = await admin.post(`/v1/runs/${held.run.id}/rerun`)
    expect(rerun).toMatchObject({ status: 201, body: { reason: 'rerun' } })
    expect(rerun.body.run).toMatchObject({ state: 'pending', round: 2 })
    await admin.claim(pr('b', { event_at: at(2) }))
    const refused = await admin.post(`/v1/runs/${held.run.id}/rerun`)
    expect(refused).toMatchObject({ status: 409, body: { code: 'not_current' } })
  })

  it('a rerun while the run is active follows at its end', async () => {
    const pr = newPullRequest()
    const held = (await admin.claim(pr('a'))).body
    const asked = await admin.post(`/v1/runs/${held.run.id}/rerun`)
    expect(asked).toMatchObject({ status: 200, body: { reason: 'duplicate' } })
    await admin.complete(held)
    expect(await admin.run(held.run.id)).toMatchObject({ state: 'pending', round: 2 })
  })

  it('the same head on a new base is a new key (scenario 25)', async () => {
    const pr = newPullRequest()
    const first = (await admin.claim(pr('a', { event_at: at(1) }))).body
    const moved = { base_sha: sha('release'), action: 'edited', event_at: at(2) }
    const next = await admin.claim(pr('a', moved))
    expect(next.body).toMatchObject({ reason: 'superseded-prior' })
    expect(next.body.superseded_run_keys).toEqual([first.run_key])
  })

  it('a skipped run releases its pair at once (scenario 26)', async () => {
    const pr = newPullRequest()
    const held = (await admin.claim(pr('a'))).body
    expect((await admin.complete(held, 'skipped')).body.state).toBe('skipped')
    expect((await admin.claim(pr('a'))).body).toMatchObject({ reason: 'retry' })
  })

  it('upper and lower case in owner and name give the same key (scenario 27)', async () => {
    const pr = newPullRequest()
    const first = await admin.claim(pr('a', { repo: 'acme/widgets' }))
    const loud = { repo: 'ACME/Widgets', head_sha: sha('a').toUpperCase() }
    const again = await admin.claim(pr('a', loud))
    expect(again.body).toMatchObject({ reason: 'duplicate', run_key: first.body.run_key })
  })

  it('a completion by a stranger or of no run changes nothing (scenario 29)', async () => {
    const pr = newPullRequest()
    const held = (await admin.claim(pr('a'))).body
    const stranger = { ...held, lease: { ...held.lease, token: 'hfl_stranger' } }
    const foreign = await admin.complete(stranger)
    expect(foreign).toMatchObject({ status: 409, body: { code: 'lease_lost' } })
    const unknown = await admin.complete({ ...held, run: { ...held.run, id: 'run_unknown' } })
    expect(unknown).toMatchObject({ status: 404, body: { code: 'run_not_found' } })
    expect((await admin.run(held.run.id)).state).toBe('running')
  })

  it('cancel: once, then a conflict, and no later success undoes it (scenario 64)', async () => {
    const pr = newPullRequest()
    for (const lease of [true, false]) {
      const held = (await admin.claim(pr(`leased ${lease}`, { lease }))).body
      const cancel = () => admin.post(`/v1/runs/${held.run.id}/cancel`)
      expect(await cancel()).toMatchObject({ status: 200, body: { state: 'cancelled' } })
      expect(await cancel()).toMatchObject({ status: 409, body: { code: 'not_active' } })
      if (lease) {
        const late = await admin.complete(held)
        expect(late).toMatchObject({ status: 409, body: { code: 'cancelled' } })
      }
      expect((await admin.run(held.run.id)).state).toBe('cancelled')
    }
    const unknown = await admin.post('/v1/runs/run_unknown/cancel')
    expect(unknown).toMatchObject({ status: 404, body: { code: 'run_not_found' } })
  })

  it('a time from the future is refused with its field', async () => {
    const pr = newPullRequest()
    const ahead = new Date(Date.now() + 6 * 60_000).toISOString()
    const { status, body, text } = await admin.claim(pr('a', { event_at: ahead }))
    expect(status).toBe(422)
    expect(body.code).toBe('event_in_future')
    expect(text).toContain('event_at')
  })

  it('a job’s key under another subject is a conflict', async () => {
    const job = { type: 'docs', key: 'nightly-1', subject: 'nightly' }
    expect((await admin.claim(job)).status).toBe(201)
    const elsewhere = await admin.claim({ ...job, subject: 'weekly' })
    expect(elsewhere).toMatchObject({ status: 409, body: { code: 'key_conflict' } })
  })

  it('jobs of one subject queue, and each follows the one before it', async () => {
    const job = (key: string) => admin.claim({ type: 'build', key, subject: 'trunk' })
    const first = (await job('build-1')).body
    expect(await job('build-2')).toMatchObject({ status: 200, body: { reason: 'queued' } })
    const nothing = await admin.post('/v1/runs/lease', { worker: 'w', types: ['build'] })
    expect(nothing.status).toBe(204)
    await admin.complete(first, 'failed')
    const next = await admin.post('/v1/runs/lease', { worker: 'w', types: ['build'] })
    expect(next).toMatchObject({ status: 200, body: { run: { key: 'build-2' } } })
  })

  it('everything that happened to a run is in its audit', async () => {
    const pr = newPullRequest()
    const held = (await admin.claim(pr('a'))).body
    await admin.claim(pr('a'))
    await admin.complete(held)
    const { body } = await admin.get(`/v1/runs/${held.run.id}/audit`)
    expect(body.items.map(({ type }) => type)).toEqual([
      'run.succeeded',
      'run.claim_skipped',
      'run.claimed',
    ])
  })
})
