/**
 * Goal: an operator sees what was published, what was not and why, and can retry, skip or confirm
 * it.
 * Method: a real server beside a simulated GitHub that refuses what the test names.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { sha, type Body } from './client.ts'
import { context, ScenarioGitHub, repo, type DeliveryJson } from './scenario-github.ts'
import { databases } from './server-data.ts'
import { adminToken, Command } from './server.ts'
import { until } from './until.ts'

// Real servers, perhaps on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const comments = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'
const statuses = 'POST /repos/{owner}/{repo}/statuses/{sha}'

describe.each(databases)('operating the outbox on $name', ({ makeData }) => {
  let here: ScenarioGitHub
  beforeAll(async () => {
    const serverData = await makeData()
    writeFileSync(join(serverData.folder, 'holdfast.config.ts'), 'export default { runs: {} }')
    here = await ScenarioGitHub.open(serverData)
    await here.start({ HOLDFAST_WRITES_PER_MINUTE: '600', HOLDFAST_WRITES_PER_HOUR: '9000' })
  })
  // Open deliveries of one test must not meet the refusals of the next.
  afterEach(() => here.published())
  afterAll(() => here.close())

  let numbers = 100
  const newPull = (): number => {
    numbers += 1
    here.pull(numbers)
    return numbers
  }
  const refused = (on: string, times = 1) =>
    here.github.faults.add({
      on: { route: on, times },
      fault: here.github.faults.refuse(403, { message: 'Resource not accessible' }),
    })
  const post = async (path: string, body?: object) => {
    const answer = await here.server.admin.post(path, body)
    const delivery = answer.body as unknown as DeliveryJson & { readonly count: number }
    return { status: answer.status, code: answer.body.code, delivery }
  }
  const closed = (run: Body, name: string): Promise<DeliveryJson> =>
    until(
      () => here.deliveryNamed(run.run.id, name),
      ({ status }) => status !== 'PENDING',
    )
  const audit = async (deliveryId: string): Promise<readonly string[]> => {
    const { body } = await here.server.admin.get(`/v1/audit?delivery=${deliveryId}`)
    return body.items.map(({ type }) => type)
  }

  it('lists all deliveries and shows each attempt', async () => {
    const number = newPull()
    here.github.faults.add({ on: { route: statuses }, fault: here.github.faults.serverError(500) })
    const held = await here.claim(number)
    const status = await closed(held, 'status')
    expect(status).toMatchObject({
      channel: 'github-status',
      kind: 'state',
      status: 'SENT',
      wait: null,
      target: `${repo}@${sha(`head of ${number}`).slice(0, 7)} ${context}`,
      content: { context, state: 'pending' },
      attempts: [
        { action: 'create', outcome: 'sent', late: false },
        { action: 'create', outcome: 'in_doubt', late: false },
      ],
    })
    expect(here.github.statuses(repo, sha(`head of ${number}`))).toHaveLength(1)
    expect((await here.deliveries('channel=github-status')).map(({ id }) => id)).toContain(
      status.id,
    )
    expect(await here.deliveries('status=FAILED')).toEqual([])
    const unknown = await here.server.admin.get('/v1/deliveries/del_01m7gsy7fk6bdsn606m36w5wgd')
    expect(unknown).toMatchObject({ status: 404, body: { code: 'delivery_not_found' } })
    await here.server.admin.complete(held)
  })

  it('a refused delivery is given up, reported, and sent again on request', async () => {
    const number = newPull()
    refused(comments)
    const held = await here.claim(number)
    const failed = await closed(held, 'anchor')
    expect(failed).toMatchObject({ status: 'FAILED', reason: 'forbidden' })
    expect(await here.deliveries('status=FAILED')).toMatchObject([{ id: failed.id }])
    const why = await here.server.admin.get(`/v1/why?q=${repo}%23${number}`)
    expect(why.text).toMatch(/comment/i)
    expect(why.text).toContain(failed.id)
    const metrics = await (
      await fetch(`${here.server.url}/metrics`, {
        headers: { authorization: `Bearer ${adminToken}` },
      })
    ).text()
    expect(metrics).toMatch(/^holdfast_deliveries_failed 1$/m)
    expect(await post(`/v1/deliveries/${failed.id}/retry`)).toMatchObject({
      status: 200,
      delivery: { status: 'PENDING' },
    })
    await here.anchorSays(number, 'running')
    expect((await closed(held, 'anchor')).status).toBe('SENT')
    expect(await audit(failed.id)).toContain('operator.delivery_retried')
    expect(await post(`/v1/deliveries/${failed.id}/retry`)).toMatchObject({
      status: 409,
      code: 'already_sent',
    })
    await here.server.admin.complete(held)
  })

  it('many are retried at once by filter, and no others', async () => {
    const pulls = [newPull(), newPull(), newPull()]
    const fault = refused(statuses, 3)
    const held = await Promise.all(pulls.map((number) => here.claim(number)))
    await until(
      async () => fault.hits,
      (hits) => hits === 3,
    )
    await Promise.all(held.map((each) => closed(each, 'status')))
    expect((await post('/v1/deliveries/retry', { channel: 'github-comment' })).delivery.count).toBe(
      0,
    )
    const one = { run: held[0]?.run.id }
    expect((await post('/v1/deliveries/retry', one)).delivery.count).toBe(1)
    const answer = await post('/v1/deliveries/retry', { channel: 'github-status' })
    expect(answer.delivery.count).toBe(2)
    for (const number of pulls) await here.statusBecomes(`head of ${number}`, 'pending')
    expect((await post('/v1/deliveries/retry')).delivery.count).toBe(0)
    await Promise.all(held.map((each) => here.server.admin.complete(each)))
  })

  it('a delivery is skipped with a reason; the next version is sent again', async () => {
    const number = newPull()
    refused(comments)
    const held = await here.claim(number)
    const failed = await closed(held, 'anchor')
    expect((await post(`/v1/deliveries/${failed.id}/skip`, { reason: ' ' })).status).toBe(422)
    expect(
      await post(`/v1/deliveries/${failed.id}/skip`, { reason: 'not wanted here' }),
    ).toMatchObject({ status: 200, delivery: { status: 'SKIPPED', reason: 'not wanted here' } })
    expect(await here.deliveries('status=SKIPPED')).toMatchObject([{ id: failed.id }])
    expect(await audit(failed.id)).toContain('operator.delivery_skipped')
    await here.server.admin.complete(held, 'succeeded', { summary: 'All the same.' })
    await here.anchorSays(number, 'All the same.')
  })

  it('a delivery that a person has seen on GitHub is confirmed as sent', async () => {
    const number = newPull()
    refused(comments)
    const held = await here.claim(number)
    const failed = await closed(held, 'anchor')
    // GitHub answered with a refusal but has the comment, as it was sent, with its marker.
    const { body } = here.github.requests.findLast(({ route }) => route === comments)!
    const { body: text } = body as { readonly body: string }
    const made = here.github.commentAs('the-bot', repo, number, text)
    const confirmed = await post(`/v1/deliveries/${failed.id}/confirm`, {
      provider_message_id: String(made.id),
    })
    expect(confirmed).toMatchObject({
      status: 200,
      delivery: { status: 'SENT', provider_message_id: String(made.id) },
    })
    expect((await here.run(held.run.id)).anchor?.comment_id).toBe(made.id)
    await here.server.admin.complete(held, 'succeeded', { summary: 'In the same place.' })
    expect((await here.anchorSays(number, 'In the same place.')).id).toBe(made.id)
  })

  it('budgets show what was used, and who is blocked until when', async () => {
    const number = newPull()
    const { items } = (await here.server.admin.get('/v1/budgets')).body as unknown as {
      items: readonly object[]
    }
    expect(items).toHaveLength(1)
    expect(items[0]).toMatchObject({ blocked_until: null })
    here.github.faults.add({
      on: { route: comments },
      fault: here.github.faults.tooMany({ retryAfterSeconds: 2 }),
    })
    const held = await here.claim(number)
    const blocked = await until(
      async () => (await here.server.admin.get('/v1/budgets')).text,
      (text) => /"blocked_until":"2/.test(text),
    )
    expect(blocked).toMatch(/"blocked_until":"2/)
    const waits = await until(
      () => here.deliveryNamed(held.run.id, 'anchor'),
      ({ status, wait }) => wait === 'budget' || status === 'SENT',
    )
    expect(waits.tries).toBe(0)
    const env = { HOLDFAST_URL: here.server.url, HOLDFAST_TOKEN: adminToken }
    const listed = await new Command(here.serverData, ['budgets', '--json'], env).ended
    expect(listed.code).toBe(0)
    await here.anchorSays(number, 'running')
    await here.server.admin.complete(held)
  })

  it('the command line shows a delivery and retries it, with and without the server', async () => {
    const number = newPull()
    refused(comments)
    const held = await here.claim(number)
    const failed = await closed(held, 'anchor')
    const through = { HOLDFAST_URL: here.server.url, HOLDFAST_TOKEN: adminToken }
    const shown = await new Command(here.serverData, ['deliveries', 'show', failed.id], through)
      .ended
    expect(shown).toMatchObject({ code: 0 })
    expect(shown.stdout).toContain('FAILED')
    const straight = { HOLDFAST_ADMIN_TOKEN: adminToken }
    const retried = await new Command(here.serverData, ['deliveries', 'retry', failed.id], straight)
      .ended
    expect(retried.stderr).toBe('')
    expect(retried.code).toBe(0)
    // The running server finds what another process has reopened.
    await here.anchorSays(number, 'running')
    await here.server.admin.complete(held)
  })
})
