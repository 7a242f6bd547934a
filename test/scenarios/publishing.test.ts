/**
 * Goal: GitHub shows the progress of a run: one comment that is edited in place and one status per
 * commit, from the webhook that starts it to its end.
 * Method: a real server between a simulated GitHub that sends signed webhooks and a worker that
 * leases over HTTP. The test reads GitHub's own state.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { sha, type Body } from './client.ts'
import { context, ScenarioGitHub, repo, type AnchoredRun } from './scenario-github.ts'
import { databases } from './server-data.ts'
import { Command } from './server.ts'
import { until } from './until.ts'

// Real servers, perhaps on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const config = `export default {
  runs: {
    review: {
      on: { pull_request: ['opened', 'reopened', 'synchronize'] },
      when: (event) => event.payload.pull_request.title !== 'Skip me' || 'nobody wants it',
    },
    fragile: { attempts: 1 },
    brief: { timeoutMs: 1000 },
    hasty: { pendingTimeoutMs: 1000 },
    alone: { anchor: { per: 'run' }, status: false },
  },
}
`

describe.each(databases)('publishing on $name', ({ name, makeData }) => {
  let here: ScenarioGitHub
  beforeAll(async () => {
    const serverData = await makeData()
    writeFileSync(join(serverData.folder, 'holdfast.config.ts'), config)
    here = await ScenarioGitHub.open(serverData)
    await here.start({ HOLDFAST_PUBLIC_URL: 'https://holdfast.example' })
  })
  afterAll(() => here.close())

  let numbers = name === 'SQLite' ? 100 : 500
  const newPull = (): number => {
    numbers += 1
    here.pull(numbers)
    return numbers
  }
  const lease = async ({ id }: Pick<AnchoredRun, 'id'>, over: object = {}): Promise<Body> => {
    const asked = { worker: 'w', run_id: id, ...over }
    return (await here.server.admin.post('/v1/runs/lease', asked)).body
  }
  const report = (held: Body, status: string) =>
    here.server
      .as(held.run_token)
      .post(`/v1/runs/${held.run.id}/status`, { status, lease_token: held.lease.token })
  const statusesOf = (head: string) => here.github.statuses(repo, sha(head), context)

  it('from the opened pull request to its result: one comment, two statuses', async () => {
    const number = newPull()
    const head = `head of ${number}`
    const waiting = await here.anchorSays(number, 'waiting for a worker')
    expect(await here.statusBecomes(head, 'pending')).toEqual(['pending'])
    const run = await here.claimedRun(number)
    expect(run.status_context).toBe(context)
    const held = await lease(run)
    await here.anchorSays(number, 'review: running')
    expect(await report(held, 'Reading the change')).toMatchObject({
      status: 200,
      body: { status: 'ok', reported_status: 'Reading the change' },
    })
    await here.anchorSays(number, 'Reading the change')
    await here.server.admin.complete(held, 'succeeded', {
      summary: 'Nothing to **object** to.',
      description: 'All is well',
    })
    const done = await here.anchorSays(number, 'Nothing to **object** to.')
    expect(done.id).toBe(waiting.id)
    expect(done.author).toBe('the-bot')
    expect(done.body).toContain('review: passed')
    expect(done.body).toContain('Reading the change')
    expect(done.body).not.toContain('https://holdfast.example')
    expect(await here.statusBecomes(head, 'success')).toEqual(['pending', 'success'])
    expect(statusesOf(head).at(-1)).toMatchObject({ description: 'All is well' })
    const { anchor } = await here.run(run.id)
    expect(anchor).toEqual({
      comment_id: done.id,
      url: expect.stringContaining(`/${repo}/pull/${number}#issuecomment-${done.id}`) as string,
    })
    const deliveries = await here.published(`run=${run.id}`)
    expect(deliveries.map(({ status }) => status)).toEqual(['SENT', 'SENT'])
  })

  it('fifty reports: the last one is always shown', async () => {
    const number = newPull()
    const held = await lease(await here.claimedRun(number))
    for (let n = 1; n <= 50; n += 1) await report(held, `file ${n} of 50`)
    await here.anchorSays(number, 'file 50 of 50')
    expect(here.github.allComments(repo, number)).toHaveLength(1)
    expect(statusesOf(`head of ${number}`)).toHaveLength(1)
    await here.server.admin.complete(held)
  })

  it('a force-push: the newer run takes the comment, the old commit gets an error', async () => {
    const number = newPull()
    const old = await lease(await here.claimedRun(number))
    const before = await here.anchorSays(number, 'review: running')
    await here.statusBecomes(`head of ${number}`, 'pending')
    here.github.push(repo, number, sha(`pushed to ${number}`), { force: true })
    const newer = await here.claimedRun(number, `pushed to ${number}`)
    expect(await here.statusBecomes(`head of ${number}`, 'error')).toEqual(['pending', 'error'])
    expect(statusesOf(`head of ${number}`).at(-1)?.description).toMatch(/^Superseded/)
    expect(await report(old, 'Too late')).toMatchObject({
      status: 409,
      body: { code: 'superseded' },
    })
    await here.server.admin.complete(await lease(newer), 'succeeded', { summary: 'Second look.' })
    const after = await here.anchorSays(number, 'Second look.')
    expect(after.id).toBe(before.id)
    expect(after.body).toContain(sha(`head of ${number}`).slice(0, 7))
    expect(after.body).not.toContain('Too late')
    expect(await here.statusBecomes(`pushed to ${number}`, 'success')).toEqual([
      'pending',
      'success',
    ])
    expect((await here.run(old.run.id)).anchor?.comment_id).toBe(before.id)
  })

  it('a closed pull request: cancelled, and closed on GitHub', async () => {
    const number = newPull()
    await here.anchorSays(number, 'waiting for a worker')
    await here.statusBecomes(`head of ${number}`, 'pending')
    here.github.close(repo, number)
    const anchor = await here.anchorSays(number, 'review: cancelled')
    expect(anchor.body).toContain('The pull request was closed.')
    expect(await here.statusBecomes(`head of ${number}`, 'error')).toEqual(['pending', 'error'])
    expect(await here.run((await here.claimedRun(number)).id)).toMatchObject({
      state: 'cancelled',
    })
  })

  it('a rerun from the command line: pending again first, and the same comment', async () => {
    const number = newPull()
    await here.statusBecomes(`head of ${number}`, 'pending')
    const run = await here.claimedRun(number)
    await here.server.admin.complete(await lease(run), 'failed', {
      error: { code: 'broken', text: 'It broke.' },
    })
    const failed = await here.anchorSays(number, 'It broke.')
    await here.statusBecomes(`head of ${number}`, 'failure')
    const env = { HOLDFAST_URL: here.server.url, HOLDFAST_TOKEN: 'an-admin-token-for-scenarios' }
    const done = await new Command(here.serverData, ['runs', 'rerun', run.id], env).ended
    expect(done).toMatchObject({ code: 0 })
    const again = await here.anchorSays(number, 'waiting for a worker')
    expect(again.id).toBe(failed.id)
    expect(again.body).not.toContain('It broke.')
    await here.statusBecomes(`head of ${number}`, 'pending')
    await here.server.admin.complete(await lease(run), 'succeeded', { verdict: 'neutral' })
    await here.anchorSays(number, 'review: done, no verdict')
    const states = await here.statusBecomes(`head of ${number}`, 'success')
    expect(states).toEqual(['pending', 'failure', 'pending', 'success'])
  })

  it('somebody deletes the comment: it is recreated once, and the run has its URL', async () => {
    const number = newPull()
    const held = await lease(await here.claimedRun(number))
    const first = await here.anchorSays(number, 'review: running')
    here.github.deleteCommentAs('octocat', first.id)
    await report(held, 'Where was I?')
    const second = await here.anchorSays(number, 'Where was I?')
    expect(second.id).not.toBe(first.id)
    const run = await until(
      () => here.run(held.run.id),
      ({ anchor }) => anchor?.comment_id === second.id,
    )
    expect(run.anchor?.url).toContain(String(second.id))
    await here.server.admin.complete(held)
    expect((await here.anchorSays(number, 'review: passed')).id).toBe(second.id)
    expect(here.github.allComments(repo, number)).toHaveLength(2)
  })

  it('a run that the rules skip shows that, without a comment', async () => {
    numbers += 1
    const headSha = sha(`head of ${numbers}`)
    here.github.addPull(repo, {
      number: numbers,
      headSha,
      baseSha: sha('main'),
      title: 'Skip me',
    })
    await here.statusBecomes(`head of ${numbers}`, 'success')
    const [only, ...more] = statusesOf(`head of ${numbers}`)
    expect(only?.description).toBe('Skipped: nobody wants it')
    expect(more).toEqual([])
    await here.published(`run=${(await here.claimedRun(numbers)).id}`)
    expect(here.github.allComments(repo, numbers)).toEqual([])
  })

  it.each([
    ['fragile', 'worker lost', /^Worker lost/, 'attempts_exhausted'],
    ['brief', 'timed out', /^Timed out/, 'timeout'],
  ])('a lost holder of type %s: %s', async (type, headline, description, code) => {
    const number = newPull()
    const claimed = await here.claim(number, `head of ${number}`, { type, lease: false })
    const held = await lease(claimed.run, { lease_ms: type === 'brief' ? 60_000 : 1000 })
    expect(held.run.state).toBe('running')
    const named = `holdfast/${type}`
    expect(await here.statusBecomes(`head of ${number}`, 'error', named)).toEqual([
      'pending',
      'error',
    ])
    const last = here.github.latestStatus(repo, sha(`head of ${number}`), named)
    expect(last?.description).toMatch(description)
    const anchors = await until(
      async () => here.github.comments(repo, number).map(({ body }) => body),
      (bodies) => bodies.some((body) => body.includes(`${type}: ${headline}`)),
    )
    // A run of this type, besides the one that the webhook starts.
    expect(anchors).toHaveLength(2)
    expect((await here.run(claimed.run.id)).error?.code).toBe(code)
  })

  it('a run that no worker takes ends with the status "No worker"', async () => {
    const number = newPull()
    await here.claim(number, `head of ${number}`, { type: 'hasty', lease: false })
    await here.statusBecomes(`head of ${number}`, 'error', 'holdfast/hasty')
    const last = here.github.latestStatus(repo, sha(`head of ${number}`), 'holdfast/hasty')
    expect(last?.description).toMatch(/^No worker/)
  })

  it('a comment for each run if the type says so, and no status', async () => {
    numbers += 1
    // The rules skip this title, so that no other type writes there.
    here.github.addPull(repo, {
      number: numbers,
      headSha: sha(`two of ${numbers}`),
      baseSha: sha('main'),
      title: 'Skip me',
    })
    for (const head of ['one', 'two']) {
      const held = await here.claim(numbers, `${head} of ${numbers}`, { type: 'alone' })
      await here.server.admin.complete(held, 'succeeded', { summary: `Summary ${head}.` })
      await until(
        async () => here.github.comments(repo, numbers),
        (all) => all.some(({ body }) => body.includes(`Summary ${head}.`)),
      )
    }
    expect(here.github.comments(repo, numbers)).toHaveLength(2)
    expect(here.github.statuses(repo, sha(`two of ${numbers}`), 'holdfast/alone')).toEqual([])
  })
})
