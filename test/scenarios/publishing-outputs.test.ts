/**
 * Goal: what a run publishes itself arrives once, on every channel, and none of it stays "in
 * progress" when the run ends. Our credentials are shown nowhere.
 * Method: a real server with an App's credentials, beside a simulated GitHub that creates its
 * tokens.
 */
import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { sha, type Body } from './client.ts'
import { ScenarioGitHub, repo, type DeliveryJson } from './scenario-github.ts'
import { databases, type ServerData } from './server-data.ts'
import { until } from './until.ts'

// Real servers, perhaps on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
})
const app = { id: 7, slug: 'holdfast-app', privateKey }
/** No webhook starts a run; a lost holder is final at once. */
const config = `
  const contexts = ['acme/lint', 'acme/types']
  const publish = { contexts, labels: ['needs-work', 'other'], approve: true }
  export default {
    runs: {
      review: { on: {}, attempts: 1, run: 'remote', publish },
      security: { run: 'remote', status: { context: 'acme/Security' } },
    },
  }`

describe.each(databases)('what a run publishes itself on $name', ({ name: database, makeData }) => {
  let here: ScenarioGitHub
  beforeAll(async () => {
    const serverData = await makeData()
    writeFileSync(join(serverData.folder, 'holdfast.config.ts'), config)
    const env = { GITHUB_APP_ID: '7', GITHUB_PRIVATE_KEY: privateKey }
    here = await ScenarioGitHub.open(serverData, { app }, env)
    await here.start({ HOLDFAST_LOG_LEVEL: 'trace' })
  })
  afterAll(() => here.close())

  let numbers = database === 'SQLite' ? 100 : 500
  const begin = async (over: object = {}): Promise<{ number: number; held: Body }> => {
    numbers += 1
    here.pull(numbers)
    return { number: numbers, held: await here.claim(numbers, `head of ${numbers}`, over) }
  }
  const put = async (held: Body, name: string, content: object) => {
    const path = `/v1/runs/${held.run.id}/deliveries/${name}`
    const body = { lease_token: held.lease.token, ...content }
    const answer = await here.server.admin.call('PUT', path, body)
    const { code, hint } = answer.body
    return { status: answer.status, code, hint, body: answer.body as never as Put }
  }
  type Put = DeliveryJson
  const sent = (id: string): Promise<DeliveryJson> =>
    until(
      () => here.delivery(id),
      ({ status }) => status !== 'PENDING',
    )

  it('a comment: once, with its address; other content under its name is refused', async () => {
    const { number, held } = await begin()
    const content = { channel: 'github-comment', body: 'Three files need **work**.' }
    const first = await put(held, 'findings', content)
    expect(first).toMatchObject({ status: 201, body: { already: false, kind: 'message' } })
    const delivery = await sent(first.body.id)
    const found = here.github.comments(repo, number).filter(({ body }) => body.includes('Three'))
    expect(found).toHaveLength(1)
    expect(delivery).toMatchObject({
      status: 'SENT',
      provider_message_id: String(found[0]?.id),
      url: expect.stringContaining(`#issuecomment-${found[0]?.id ?? ''}`) as string,
    })
    expect(await put(held, 'findings', content)).toMatchObject({
      status: 200,
      body: { id: first.body.id, already: true },
    })
    expect(await put(held, 'findings', { ...content, body: 'Two files.' })).toMatchObject({
      status: 409,
      code: 'content_differs',
    })
    await here.server.admin.complete(held)
    await here.published(`run=${held.run.id}`)
    const all = here.github.allComments(repo, number).filter(({ body }) => body.includes('files'))
    expect(all).toHaveLength(1)
  })

  it('a review with its line comments, in one request', async () => {
    const { number, held } = await begin()
    const content = {
      channel: 'github-review',
      body: 'Two things.',
      event: 'REQUEST_CHANGES',
      comments: [
        { path: 'src/a.ts', line: 3, body: 'This one.' },
        { path: 'src/b.ts', line: 9, start_line: 7, side: 'RIGHT', body: 'And these.' },
      ],
    }
    const first = await put(held, 'review', content)
    expect(first.status).toBe(201)
    await sent(first.body.id)
    expect((await put(held, 'review', content)).body.already).toBe(true)
    expect((await put(held, 'review', { ...content, body: 'Three.' })).code).toBe('content_differs')
    const [review, ...more] = here.github.reviews(repo, number)
    expect(more).toEqual([])
    expect(review).toMatchObject({
      state: 'CHANGES_REQUESTED',
      commitId: sha(`head of ${number}`),
      comments: [{ path: 'src/a.ts' }, { path: 'src/b.ts' }],
    })
    expect(here.github.count('POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews')).toBe(1)
  })

  it('nothing that its type is not allowed to publish', async () => {
    const { number, held } = await begin({ type: 'security' })
    const head = sha(`head of ${number}`)
    await here.published(`run=${held.run.id}`)
    for (const content of [
      { channel: 'github-status', context: 'acme/lint', state: 'success' },
      { channel: 'github-check', name: 'acme/lint', conclusion: 'success' },
      { channel: 'github-label', label: 'needs-work' },
      { channel: 'github-review', body: 'Fine.', event: 'APPROVE' },
      { channel: 'github-review', body: 'No.', event: 'REQUEST_CHANGES' },
    ]) {
      const refused = await put(held, 'own', content)
      expect(refused).toMatchObject({ status: 403, code: 'publish_not_allowed' })
      expect(refused.hint).toContain('runs: { "security": { publish: {')
    }
    expect(here.github.statuses(repo, head, 'acme/lint')).toEqual([])
    expect(here.github.reviews(repo, number)).toEqual([])
    const review = { channel: 'github-review', body: 'Looks fine.' }
    expect((await put(held, 'own', review)).status).toBe(201)
  })

  it('a label: added, and removed again under the same name', async () => {
    const { number, held } = await begin()
    const content = { channel: 'github-label', label: 'needs-work' }
    const on = await put(held, 'mark', content)
    await sent(on.body.id)
    expect(here.github.labels(repo, number)).toEqual(['needs-work'])
    expect((await put(held, 'mark', content)).body.already).toBe(true)
    const off = await put(held, 'mark', { ...content, present: false })
    expect(off).toMatchObject({ status: 201, body: { id: on.body.id, already: false } })
    await until(
      async () => here.github.labels(repo, number),
      (labels) => labels.length === 0,
    )
    expect((await put(held, 'mark', { ...content, label: 'other' })).code).toBe('content_differs')
  })

  it('a status and a check run: updated under the same name', async () => {
    const { number, held } = await begin()
    const head = sha(`head of ${number}`)
    const status = { channel: 'github-status', context: 'acme/lint' }
    const check = { channel: 'github-check', name: 'acme/types' }
    const first = await put(held, 'lint', { ...status, state: 'pending' })
    const shown = await put(held, 'types', { ...check, title: 'Looking' })
    await sent(first.body.id)
    await sent(shown.body.id)
    expect((await put(held, 'lint', { ...status, state: 'pending' })).body.already).toBe(true)
    await put(held, 'lint', { ...status, state: 'success', description: 'Clean' })
    await put(held, 'types', { ...check, conclusion: 'failure', title: 'One error' })
    await here.statusBecomes(`head of ${number}`, 'success', 'acme/lint')
    await until(
      async () => here.github.checkRuns(repo, head).find(({ name }) => name === 'acme/types'),
      (run) => run?.conclusion === 'failure',
    )
    expect(here.github.statuses(repo, head, 'acme/lint')).toHaveLength(2)
    const checks = here.github.checkRuns(repo, head).map(({ name }) => name)
    expect(checks.toSorted()).toEqual(['acme/types', 'holdfast/review'])
    expect(
      await put(held, 'own', { ...status, context: 'Holdfast/Review', state: 'success' }),
    ).toMatchObject({ status: 403, code: 'context_reserved' })
    const success = { name: 'holdfast/review', conclusion: 'success' }
    for (const one of [
      { ...check, ...success },
      { ...check, name: 'ACME / security' },
    ]) {
      const refused = await put(held, 'own', one)
      expect(refused).toMatchObject({ status: 403, code: 'context_reserved' })
    }
    expect(here.github.checkRuns(repo, head)).toHaveLength(2)
    expect((await put(held, 'anchor', { channel: 'github-comment', body: 'x' })).status).toBe(422)
  })

  it('its own check run beside the status, closed with the run', async () => {
    const { number, held } = await begin()
    const head = sha(`head of ${number}`)
    const shown = () => here.github.checkRuns(repo, head)
    await until(
      async () => shown(),
      ([run]) => run?.status === 'in_progress',
    )
    await here.server.admin.complete(held, 'succeeded', { verdict: 'failure', summary: 'No.' })
    await until(
      async () => shown(),
      ([run]) => run?.conclusion === 'failure',
    )
    expect(shown()).toHaveLength(1)
    expect(await here.statusBecomes(`head of ${number}`, 'failure')).toEqual(['pending', 'failure'])
  })

  it.each([
    ['succeeded', 'error', 'neutral', /^Ended without a result/],
    ['failed', 'failure', 'failure', /^Failed/],
    ['cancelled', 'error', 'cancelled', /^Cancelled/],
    ['lost', 'error', 'cancelled', /^Worker lost/],
  ])(
    'a run that %s leaves none of its outputs in progress',
    async (how, state, conclusion, text) => {
      const lost = how === 'lost'
      const { number, held: claimed } = await begin({ lease: !lost })
      const asked = { worker: 'w', run_id: claimed.run.id, lease_ms: 1500 }
      const held = lost ? (await here.server.admin.post('/v1/runs/lease', asked)).body : claimed
      const status = { channel: 'github-status', context: 'acme/lint', state: 'pending' }
      const check = { channel: 'github-check', name: 'acme/types', status: 'queued' }
      for (const [name, content] of Object.entries({ lint: status, types: check })) {
        const { body } = await put(held, name, content)
        // A lost holder is not waited for: outputs that are not announced yet are closed too.
        if (!lost) await sent(body.id)
      }
      if (how === 'cancelled') await here.server.admin.post(`/v1/runs/${held.run.id}/cancel`)
      else if (!lost) await here.server.admin.complete(held, how)
      await here.statusBecomes(`head of ${number}`, state, 'acme/lint')
      const head = sha(`head of ${number}`)
      expect(here.github.latestStatus(repo, head, 'acme/lint')?.description).toMatch(text)
      const checks = await until(
        async () => here.github.checkRuns(repo, head),
        (all) => all.every((run) => run.status === 'completed'),
      )
      const own = checks.find(({ name }) => name === 'acme/types')
      expect(own?.conclusion).toBe(conclusion)
      const left = await here.published(`run=${held.run.id}`)
      expect(left.map((each) => each.status)).toEqual(left.map(() => 'SENT'))
    },
  )

  it('a new round publishes under the same name again', async () => {
    const { number, held } = await begin()
    const content = { channel: 'github-comment', body: 'Said in this round.' }
    await sent((await put(held, 'note', content)).body.id)
    await here.server.admin.complete(held)
    const again = await here.claim(number, `head of ${number}`, { rerun: true })
    expect(again.reason).toBe('rerun')
    const second = await put(again, 'note', content)
    expect(second).toMatchObject({ status: 201, body: { already: false } })
    await sent(second.body.id)
    const comments = here.github
      .comments(repo, number)
      .filter(({ body }) => body.includes('Said in'))
    expect(comments).toHaveLength(2)
    await here.server.admin.complete(again)
  })

  it('an old holder publishes nothing', async () => {
    const { number, held } = await begin()
    here.github.push(repo, number, sha(`pushed to ${number}`))
    await here.claim(number, `pushed to ${number}`)
    const late = await put(held, 'late', { channel: 'github-comment', body: 'Too late.' })
    expect(late).toMatchObject({ status: 409, code: 'superseded' })
  })

  // Last, because it stops the server.
  it('neither key nor token is in a log line, in the database or on GitHub', async () => {
    const { number, held } = await begin()
    here.github.expireTokens()
    await here.server.admin.complete(held, 'succeeded', {
      summary: `It printed ${privateKey} and ghs_${'a'.repeat(40)}.`,
    })
    await here.statusBecomes(`head of ${number}`, 'success')
    await here.published()
    expect(await here.server.stop()).toBe(0)
    const { stdout, stderr } = await here.server.command.ended
    expect(stderr).toContain('"msg":"Published"')
    const secret = privateKey.split('\n').slice(1, -2)
    const shown = here.github.allComments(repo, number).flatMap(({ versions }) => versions)
    const places = { stdout, stderr, github: JSON.stringify(shown) }
    for (const [where, text] of Object.entries(places)) {
      const found = secret.filter((line) => text.includes(line))
      expect({ where, found }).toEqual({ where, found: [] })
      expect(text).not.toMatch(/ghs_(?!\(hidden\))/)
    }
    // A caller's text may contain anything; our own secrets are nowhere.
    const stored = (await storedBytes(here.serverData)).replaceAll(`ghs_${'a'.repeat(40)}`, '')
    expect(stored).toContain(held.run.id)
    expect(stored).not.toMatch(/ghs_(?!\(hidden\))/)
  })
})

async function storedBytes(serverData: ServerData): Promise<string> {
  const url = serverData.env['HOLDFAST_DATABASE_URL']
  if (url !== undefined) return await allRows(url)
  const files = readdirSync(serverData.folder, { recursive: true })
    .map((file) => join(serverData.folder, String(file)))
    .filter((file) => statSync(file).isFile())
  return files.map((file) => readFileSync(file, 'latin1')).join('\n')
}

async function allRows(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const texts: string[] = []
  const { rows: tables } = await client.query<{ tablename: string }>(
    `SELECT tablename FROM pg_tables WHERE schemaname = 'holdfast'`,
  )
  for (const { tablename } of tables) {
    const { rows } = await client.query<{ row: string }>(
      `SELECT t::text AS row FROM holdfast."${tablename}" t`,
    )
    texts.push(...rows.map(({ row }) => row))
  }
  await client.end()
  return texts.join('\n')
}
