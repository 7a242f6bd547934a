/**
 * Goal: scenario 28, second half. A bot whose store is down and which decides to work anyway asks
 * GitHub before it publishes, and finds what Holdfast has published in the normal way: no second
 * comment, no second status.
 * Method: a real server publishes on the simulated GitHub and is killed. The library, as if in
 * another process, gets a database address where nothing listens.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openHoldfast, type Gate, type Holdfast } from '../../src/index.ts'
import { startRelay } from '../chaos/relay.ts'
import { migratedDatabase } from '../postgres/fresh-database.ts'
import { Client, sha, type Body } from './client.ts'
import { context, ScenarioGitHub, repo, token } from './scenario-github.ts'
import { databases } from './server-data.ts'

// Real servers, perhaps on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const runs = {
  review: { on: {} },
  mute: { status: false },
  silent: { status: false, anchor: false },
} as const
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
function ignore(): void {
  // A test reads answers.
}

const away = 'postgres://nobody@127.0.0.1:1/none'
const open = (githubApiUrl: string, databaseUrl = away): Promise<Holdfast> =>
  openHoldfast(
    { databaseUrl, githubApiUrl, runs },
    { onStoreError: 'open', github: { token }, log },
  )

const claimOf = (prNumber: number, head = `head of ${prNumber}`) => ({
  repo,
  prNumber,
  baseSha: sha('main'),
  headSha: sha(head),
})

describe.each(databases)('the output gate beside a server on $name', ({ name, makeData }) => {
  let here: ScenarioGitHub
  let holdfast: Holdfast
  beforeAll(async () => {
    const serverData = await makeData()
    const config = `export default { runs: ${JSON.stringify(runs)} }\n`
    writeFileSync(join(serverData.folder, 'holdfast.config.ts'), config)
    here = await ScenarioGitHub.open(serverData)
    await here.start()
    holdfast = await open(here.url)
  })
  afterAll(async () => {
    await holdfast.close()
    await here.close()
  })

  let numbers = name === 'SQLite' ? 100 : 500
  const newPull = (): number => {
    numbers += 1
    here.pull(numbers)
    return numbers
  }
  const finish = (held: Body, summary: string) =>
    here.server.admin.complete(held, 'succeeded', { summary })

  it('a result counts as published, a run in progress or another head’s does not', async () => {
    const number = newPull()
    const held = await here.claim(number)
    await here.anchorSays(number, 'review: running')
    await here.statusBecomes(`head of ${number}`, 'pending')
    expect(await holdfast.ensureNotPublished(claimOf(number))).toMatchObject({ published: false })
    await finish(held, 'Two nits.')
    const { id } = await here.anchorSays(number, 'Two nits.')
    expect(await holdfast.ensureNotPublished(claimOf(number))).toEqual({
      published: true,
      where: 'comment',
      url: expect.stringContaining(`#issuecomment-${id}`) as string,
    })
    here.github.push(repo, number, sha(`pushed to ${number}`))
    const newer = claimOf(number, `pushed to ${number}`)
    expect(await holdfast.ensureNotPublished(newer)).toMatchObject({ published: false })
  })

  it('a result stays published when a newer head takes the comment over', async () => {
    const number = newPull()
    await finish(await here.claim(number, undefined, { type: 'mute' }), 'First look.')
    await here.anchorSays(number, 'First look.')
    here.github.push(repo, number, sha(`pushed to ${number}`))
    const head = `pushed to ${number}`
    const held = await here.claim(number, head, { type: 'mute' })
    await here.anchorSays(number, 'mute: running')
    const [older, newer] = [claimOf(number), claimOf(number, head)]
    const asked = (claim: typeof older) => holdfast.ensureNotPublished({ ...claim, type: 'mute' })
    expect(await asked(older)).toMatchObject({ published: true, where: 'comment' })
    expect(await asked(newer)).toMatchObject({ published: false })
    await finish(held, 'Second look.')
    await here.anchorSays(number, 'Second look.')
    expect(await asked(older)).toMatchObject({ published: true })
    expect(await asked(newer)).toMatchObject({ published: true })
  })

  it.each([
    ['review', 'findings', 'Off by one.'],
    ['comment', 'progress', 'Starting …'],
  ])('a %s that a run published itself counts, whatever it says', async (where, name, body) => {
    const number = newPull()
    const held = await here.claim(number, undefined, { type: 'silent' })
    const path = `/v1/runs/${held.run.id}/deliveries/${name}`
    await here.server.as(held.run_token).call('PUT', path, { channel: `github-${where}`, body })
    await here.published(`run=${held.run.id}`)
    const claim = { ...claimOf(number), type: 'silent' }
    expect(await holdfast.ensureNotPublished(claim)).toMatchObject({ where })
    expect(await holdfast.ensureNotPublished(claimOf(number))).toMatchObject({ published: false })
  })

  it('a result mark in a model’s text does not count', async () => {
    const number = newPull()
    const { resultMark } = await holdfast.checkAndClaimRun(claimOf(number, 'not yet pushed'))
    await finish(await here.claim(number), `Fine. ${resultMark}`)
    await here.anchorSays(number, 'Fine.')
    here.github.push(repo, number, sha('not yet pushed'))
    const next = claimOf(number, 'not yet pushed')
    expect(await holdfast.ensureNotPublished(next)).toMatchObject({ published: false })
  })

  it('scenario 28: after the store was lost no second comment or status is created', async () => {
    const number = newPull()
    await finish(await here.claim(number), 'The one and only.')
    await here.anchorSays(number, 'The one and only.')
    const states = await here.statusBecomes(`head of ${number}`, 'success')
    await here.server.kill()
    const bot = await open(here.url)
    const gate = await bot.checkAndClaimRun(claimOf(number))
    expect(gate).toMatchObject({ shouldProcess: true, reason: 'store-error' })
    expect(await publishOnce(bot, gate)).toBe(false)
    await bot.close()
    expect(here.github.allComments(repo, number)).toHaveLength(1)
    expect(await here.statusBecomes(`head of ${number}`, 'success')).toEqual(states)
  })

  it('scenario 28: of two that failed open, one after the other, the first publishes', async () => {
    const number = newPull()
    const published: boolean[] = []
    for (const bot of [await open(here.url), await open(here.url)]) {
      const gate = await bot.checkAndClaimRun(claimOf(number))
      published.push(await publishOnce(bot, gate))
      await bot.close()
    }
    expect(published).toEqual([true, false])
    expect(here.github.allComments(repo, number)).toHaveLength(1)
    expect(here.github.statuses(repo, sha(`head of ${number}`), context)).toHaveLength(1)
  })

  /** The steps of a bot that posts its own comment. */
  async function publishOnce(bot: Holdfast, gate: Gate): Promise<boolean> {
    const { published } = await bot.ensureNotPublished(gate.runKey)
    if (published) return false
    const [, number, head] = /:pr-(\d+):.*head-(\w+)$/.exec(gate.runKey) ?? []
    const github = new Client(`${here.url}/repos/${repo}`, token)
    await github.post(`/issues/${number}/comments`, { body: `Two nits.\n\n${gate.resultMark}` })
    await github.post(`/statuses/${head}`, { state: 'success', context })
    return true
  }
})

it('a store that comes back is used by the next call', async () => {
  const database = await migratedDatabase()
  const relay = await startRelay()
  relay.aim(away)
  const bot = await open('http://127.0.0.1:1', relay.url(database.url))
  const claim = { ...claimOf(1), eventAt: new Date('2026-01-31T12:00:00Z') }
  expect(await bot.checkAndClaimRun(claim)).toMatchObject({ reason: 'store-error' })
  relay.aim(database.url)
  const gates = await Promise.all([bot.checkAndClaimRun(claim), bot.checkAndClaimRun(claim)])
  expect(gates.map(({ reason }) => reason).toSorted()).toEqual(['duplicate', 'new'])
  await bot.close()
  await relay.close()
  await database.drop()
})
