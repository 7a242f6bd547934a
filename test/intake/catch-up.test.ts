/**
 * Goal: events on GitHub whose webhooks never arrived are found and decided once, as if a webhook
 * had arrived, and nothing else is.
 * Method: whole servers over real sockets, against the simulated GitHub over HTTP, whose hook loses
 * what a test says. The test reads the servers' stores.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { explain } from '../../src/audit/why.ts'
import { openGitHub } from '../../src/connect.ts'
import { inspectDatabase, openStore } from '../../src/open-store.ts'
import { purgeAll } from '../../src/runs/purge.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import type { Store } from '../../src/store.ts'
import {
  createGitHubSimulator,
  sendWebhooks,
  serveSimulator,
  type GitHubSimulator,
  type ServedSimulator,
  type WebhookSender,
} from '../../src/simulator/index.ts'
import { FakeWorld } from '../cli/fake-world.ts'
import { completion, grant } from '../conformance/claims.ts'
import { appKeyPem } from '../github/github-under-test.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { until } from '../scenarios/until.ts'
import { openLiveServer, type LiveOptions, type LiveServer } from './live-server.ts'
import { webhookSecret } from './webhook.ts'

const name = 'acme/widgets'
const sha = (mark: number | string) => String(mark).padStart(40, '0')
const page = { limit: 1000, cursor: null }
/** Everything is past its retention; only the audit stays. */
const everything = { finishedMs: -1000, supersededMs: -1000, eventMs: -1000, auditMs: 1e12 }

let github: GitHubSimulator
let served: ServedSimulator
let hook: WebhookSender
let folder: string
let server: LiveServer

const asApp = (): LiveOptions['env'] => ({
  GITHUB_API_URL: served.url,
  GITHUB_APP_ID: '12',
  GITHUB_PRIVATE_KEY: appKeyPem,
})

/** Times in payloads have whole seconds, so each event is a second after the one before. */
let aheadMs: number
const clock = { wallMs: () => Date.now() + aheadMs, monotonicMs: () => performance.now() }
function then(happens: () => unknown): void {
  aheadMs += 1000
  happens()
}

beforeEach(async () => {
  aheadMs = 0
  github = createGitHubSimulator({
    clock,
    app: { id: 12, slug: 'holdfast', privateKey: appKeyPem },
    tokens: [{ token: 'ghp_bot', login: 'holdfast-bot' }],
  })
  github.addRepository(name)
  served = await serveSimulator(github)
  folder = mkdtempSync(join(tmpdir(), 'holdfast-catch-up-'))
})
afterEach(async () => {
  await server.app.close()
  await served.close()
  rmSync(folder, { recursive: true })
})

async function start(env = asApp()): Promise<void> {
  server = await openLiveServer({ folder, env })
  await server.catchUp()
}

/** Starts a server that receives webhooks from now on. */
async function listen(env = asApp()): Promise<void> {
  await start(env)
  hook = sendWebhooks(github, { url: server.hookUrl, secret: webhookSecret })
}

const open = (number: number, draft = false) =>
  then(() => github.addPull(name, { number, headSha: sha(number * 100), baseSha: sha('b'), draft }))
const push = (number: number, head: number, by = 'octocat') =>
  then(() => github.push(name, number, sha(head), { by }))
const close = (number: number) => then(() => github.close(name, number))

/** Waits until all webhooks are decided. Returns the runs, by pull request and head. */
async function runs(store: Store = server.app.store): Promise<string[]> {
  await hook.idle()
  await until(
    () => store.inbox.backlog(),
    ({ waiting }) => waiting === 0,
  )
  const { items } = await store.runs.list({}, page)
  return items
    .map(({ pr, headSha, state }) => `#${pr} ${Number(headSha)} ${state}`)
    .toSorted((a, b) => a.localeCompare(b))
}

async function auditCount(type: string, store: Store = server.app.store): Promise<number> {
  return (await store.audit.list({ type }, page)).items.length
}

describe('webhooks that never arrived', () => {
  it('are found in GitHub’s list of sent webhooks, and decided once', async () => {
    await listen()
    hook.addFault({ fault: 'drop', action: 'opened' })
    hook.addFault({ fault: 'drop', action: 'closed' })
    open(1)
    open(2)
    push(1, 101)
    close(2)
    expect(await runs()).toEqual(['#1 101 pending', '#2 200 pending'])
    const first = await server.catchUp()
    expect(first).toMatchObject({ ingested: 2, reconciled: 0, skipped: [] })
    expect([first.runs_made, first.runs_cancelled.length]).toEqual([[], 1])
    // The first head is stale by now, and its run says so.
    expect(await runs()).toEqual(['#1 100 skipped', '#1 101 pending', '#2 200 cancelled'])
    expect(await auditCount('webhook.caught_up')).toBe(2)
    const again = await server.catchUp()
    expect(again).toMatchObject({ ingested: 0, reconciled: 0, runs_made: [], runs_cancelled: [] })
    expect(await auditCount('webhook.duplicate')).toBe(0)
  })

  it('that came twice are not missing', async () => {
    await listen()
    hook.addFault({ fault: 'duplicate', event: 'pull_request', times: 2 })
    open(1)
    push(1, 101)
    await runs()
    expect(await server.catchUp()).toMatchObject({ ingested: 0, reconciled: 0 })
  })

  it('that no type listens to are not fetched', async () => {
    await listen()
    hook.addFault({ fault: 'drop', event: 'pull_request', action: 'labeled', times: 5 })
    open(1)
    for (const label of ['a', 'b', 'c']) github.labelAs('octocat', name, 1, label)
    await runs()
    expect(await server.catchUp()).toMatchObject({ ingested: 0 })
    expect(github.count('GET /app/hook/deliveries/{delivery_id}')).toBe(0)
  })

  it('of an outage are all found at the next start, over three pages', async () => {
    await listen()
    open(1)
    await runs()
    await server.app.close()
    for (let number = 2; number <= 15; number++) open(number)
    for (const number of [2, 3, 4]) push(number, number * 100 + 1)
    for (const number of [1, 5, 6]) close(number)
    for (let i = 0; i < 200; i++) github.labelAs('octocat', name, 7, `label ${i}`)
    await hook.idle()
    server = await openLiveServer({ folder, env: asApp() })
    hook.moveTo(server.hookUrl)
    await until(
      () => auditCount('webhook.caught_up'),
      (count) => count === 20,
    )
    const after = await runs()
    expect(after.filter((run) => run.endsWith('pending'))).toEqual(
      ['#10 1000', '#11 1100', '#12 1200', '#13 1300', '#14 1400', '#15 1500', '#2 201']
        .concat(['#3 301', '#4 401', '#7 700', '#8 800', '#9 900'])
        .map((run) => `${run} pending`),
    )
    expect(after).toContain('#1 100 cancelled')
    expect(github.count('GET /app/hook/deliveries')).toBeGreaterThanOrEqual(3)
  })

  it('from before the first start do not count', async () => {
    server = await openLiveServer({ folder, env: asApp() })
    hook = sendWebhooks(github, { url: 'http://127.0.0.1:9/', secret: webhookSecret })
    await server.app.close()
    rmSync(folder, { recursive: true })
    folder = mkdtempSync(join(tmpdir(), 'holdfast-catch-up-'))
    open(1)
    await hook.idle()
    const { createdAt } = github.thread(name, 1)
    await until(
      async () => Date.now(),
      (now) => Math.floor(now / 1000) * 1000 > createdAt + 1000,
    )
    await start()
    expect(await auditCount('webhook.caught_up')).toBe(0)
  })

  it('are found by two servers at once, and decided once', async () => {
    const database = await freshDatabase()
    const env = {
      ...asApp(),
      HOLDFAST_DATABASE_URL: database.url,
      HOLDFAST_ADMIN_TOKEN: 'an-admin-token-of-good-length',
    }
    await listen(env)
    const other = await openLiveServer({ folder, env })
    try {
      await other.catchUp()
      hook.addFault({ fault: 'drop', event: 'pull_request', times: 100 })
      for (let number = 1; number <= 10; number++) open(number)
      await hook.idle()
      const reports = await Promise.all([server.catchUp(), other.catchUp()])
      expect(reports.reduce((sum, { ingested }) => sum + ingested, 0)).toBe(10)
      const all = await runs()
      expect(all).toHaveLength(10)
      expect(all.every((run) => run.endsWith('pending'))).toBe(true)
      expect(await auditCount('webhook.caught_up')).toBe(10)
      expect(await auditCount('run.claimed')).toBe(10)
    } finally {
      await other.app.close()
      await server.app.close()
      await database.drop()
      server = await openLiveServer({ folder, env: asApp() })
    }
  })
})

describe('pull requests whose webhooks were lost', () => {
  /** Holdfast knows a repository only after an event from it. */
  async function listenToOne(env = asApp()): Promise<void> {
    await listen(env)
    open(1)
    await runs()
    await server.catchUp()
  }

  it('get their run, and a closed one loses it', async () => {
    await listenToOne()
    hook.addFault({ fault: 'drop-unlogged', event: 'pull_request', times: 3 })
    open(2)
    push(1, 101)
    const found = await server.catchUp()
    expect(found).toMatchObject({ ingested: 0, reconciled: 2, skipped: [] })
    expect(found.runs_made).toHaveLength(2)
    expect(await runs()).toEqual(['#1 100 superseded', '#1 101 pending', '#2 200 pending'])
    const { items } = await server.app.store.runs.list({ pr: 2, repo: name }, page)
    expect(items[0]).toMatchObject({ triggerEvent: 'reconcile' })
    close(2)
    expect(await server.catchUp()).toMatchObject({ reconciled: 1, runs_cancelled: [items[0]?.id] })
    expect(await server.catchUp()).toMatchObject({ ingested: 0, reconciled: 0 })
  })

  it('that were reopened or made ready follow the rules of their type', async () => {
    await listenToOne()
    open(2, true)
    close(1)
    await runs()
    expect(await server.catchUp()).toMatchObject({ reconciled: 0 })
    hook.addFault({ fault: 'drop-unlogged', event: 'pull_request', times: 2 })
    then(() => github.reopen(name, 1))
    then(() => github.edit(name, 2, { draft: false }))
    expect(await server.catchUp()).toMatchObject({ reconciled: 2 })
    expect(await runs()).toEqual(['#1 100 pending', '#2 200 pending'])
  })

  it('that were reopened get a run even if only their subject is stored', async () => {
    await listenToOne()
    open(2)
    close(1)
    await runs()
    const { store } = server.app
    await until(
      () => purgeAll(store, everything, 'test'),
      (removed) => removed === 1,
    )
    expect(await runs()).toEqual(['#2 200 pending'])
    expect(await server.catchUp()).toMatchObject({ reconciled: 0 })
    hook.addFault({ fault: 'drop-unlogged', event: 'pull_request', times: 1 })
    then(() => github.reopen(name, 1))
    expect(await server.catchUp()).toMatchObject({ reconciled: 1 })
    expect(await runs()).toEqual(['#1 100 pending', '#2 200 pending'])
    await purgeAll(store, everything, 'test')
    expect(await server.catchUp()).toMatchObject({ runs_made: [] })
  })

  it('that were reopened get a run if theirs had failed, as by the event itself', async () => {
    await listenToOne()
    const { store } = server.app
    const asked = { grant: grant(), leaseMs: 60_000, types: null, runId: null, actor: 'test' }
    const held = await store.runs.lease(asked, null)
    await store.runs.complete(completion(held!, 'failed'), null)
    close(1)
    await runs()
    hook.addFault({ fault: 'drop-unlogged', event: 'pull_request', times: 1 })
    then(() => github.reopen(name, 1))
    expect(await server.catchUp()).toMatchObject({ reconciled: 1 })
    expect(await runs()).toEqual(['#1 100 pending'])
    expect(await server.catchUp()).toMatchObject({ reconciled: 0 })
  })

  it('that we pushed to ourselves start nothing', async () => {
    await listenToOne()
    push(1, 101, 'holdfast[bot]')
    expect(await runs()).toEqual(['#1 100 pending'])
    then(() => github.commentAs('octocat', name, 1, 'Thank you'))
    expect(await server.catchUp()).toMatchObject({ ingested: 0, reconciled: 0 })
    expect(await runs()).toEqual(['#1 100 pending'])
  })

  it('are also found with a token, which cannot read the list of sent webhooks', async () => {
    const env = { GITHUB_API_URL: served.url, GITHUB_TOKEN: 'ghp_bot' }
    await listenToOne(env)
    hook.addFault({ fault: 'drop', event: 'pull_request' })
    open(2)
    const found = await server.catchUp()
    expect(found).toMatchObject({ ingested: 0, reconciled: 1 })
    expect(found.skipped).toEqual([
      { what: 'webhooks', reason: 'only a GitHub App can read what GitHub sent' },
    ])
    expect(await runs()).toEqual(['#1 100 pending', '#2 200 pending'])
  })

  it('wait while GitHub asks to wait', async () => {
    await listenToOne()
    hook.addFault({ fault: 'drop-unlogged', event: 'pull_request' })
    open(2)
    const fault = github.faults.secondaryLimit({ retryAfterSeconds: 2 })
    const route = 'GET /repos/{owner}/{repo}/pulls'
    github.faults.add({ on: { route }, fault })
    const { reconciled, skipped } = await server.catchUp()
    expect([reconciled, skipped]).toEqual([0, [{ what: name, reason: 'GitHub asks us to wait' }]])
    const asked = github.count(route)
    const meanwhile = await server.catchUp()
    expect(meanwhile.skipped[0]?.reason).toContain('GitHub asks us to wait until')
    expect(github.count(route)).toBe(asked)
    const later = await until(
      () => server.catchUp(),
      (report) => report.reconciled > 0,
    )
    expect(later).toMatchObject({ reconciled: 1, skipped: [] })
  })
})

it('doctor and why name a wrong secret at GitHub', async () => {
  await start()
  hook = sendWebhooks(github, { url: server.hookUrl, secret: 'another secret than the server has' })
  open(8)
  await hook.idle()
  const world = new FakeWorld()
  Object.assign(world.scheduler, systemScheduler)
  Object.assign(world, { openStore, inspectDatabase, openGitHub, fetch: globalThis.fetch })
  world.env = { ...asApp(), GITHUB_WEBHOOK_SECRET: webhookSecret, HOLDFAST_DATA_DIR: folder }
  expect(await world.run('doctor')).toBe(1)
  expect(world.stdout).toMatch(/✗ github\.deliveries .* ended with 401: the signature is wrong/)
  expect(await server.catchUp()).toMatchObject({ ingested: 1 })
  const { text } = await explain(server.app.store, `${name}#8`)
  expect(text).toContain('Its webhook had a wrong signature and was refused (401)')
  expect(text).not.toContain('never arrived')
})

it('catch-up does not report success if GitHub refuses the credentials', async () => {
  github.faults.add({
    on: { route: /^GET \/app\// },
    fault: github.faults.refuse(401),
  })
  await start()
  const logLines = server.logged.map(({ msg, level }) => `${level} ${msg}`)
  expect(logLines).not.toContain('30 Checked for missed webhooks')
  expect(logLines).toContain('40 Checked for missed webhooks, but not all: see "skipped"')
})

describe('the command', () => {
  it('catches up beside a server, directly on its database', async () => {
    await listen()
    hook.addFault({ fault: 'drop', event: 'pull_request' })
    open(1)
    await hook.idle()
    const world = new FakeWorld()
    Object.assign(world.scheduler, systemScheduler)
    Object.assign(world, { openStore, fetch: globalThis.fetch })
    world.env = { ...asApp(), GITHUB_WEBHOOK_SECRET: webhookSecret, HOLDFAST_DATA_DIR: folder }
    expect(await world.run('catchup')).toBe(0)
    expect(world.stdout).toMatch(
      /^1 missed webhook \(1 checked\)\.\nNo pull requests changed .*\nCreated 1 run: run_/,
    )
    expect(await runs()).toEqual(['#1 100 pending'])
    world.stdout = ''
    expect(await world.run('catchup', '--json')).toBe(0)
    expect(JSON.parse(world.stdout)).toMatchObject({ ingested: 0, runs_made: [], skipped: [] })
  })
})
