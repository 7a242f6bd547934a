/**
 * Goal: nothing that has to be shown is lost or shown twice because the server or GitHub was away.
 * Method: a real server that stops and starts beside a simulated GitHub that goes and comes back.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { newPullRequest, sha } from './client.ts'
import { ScenarioGitHub, repo, type AnchoredRun, type DeliveryJson } from './scenario-github.ts'
import { databases, type ServerData } from './server-data.ts'
import { Server } from './server.ts'
import { until } from './until.ts'

// Real servers, perhaps on a busy machine.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

const statuses = 'POST /repos/{owner}/{repo}/statuses/{sha}'

describe.each(databases)('away on $name', ({ makeData }) => {
  let here: ScenarioGitHub
  beforeEach(async () => {
    const serverData = await makeData()
    writeFileSync(join(serverData.folder, 'holdfast.config.ts'), 'export default { runs: {} }')
    here = await ScenarioGitHub.open(serverData)
  })
  afterEach(() => here.close())

  const statesOf = (number: number): string[] =>
    here.github.statuses(repo, sha(`head of ${number}`)).map(({ state }) => state)

  it('a server that is stopped leaves what is open to the next one', async () => {
    await here.start()
    here.pull(5)
    const held = await here.claim(5)
    const first = await here.anchorSays(5, 'running')
    await here.statusBecomes('head of 5', 'pending')
    await here.published()
    await here.goAway()
    await here.server.admin.complete(held, 'succeeded', { summary: 'Done before the stop.' })
    await until(
      () => here.deliveries('status=PENDING'),
      (open) => open.length === 2 && open.every(({ tries }) => tries > 0),
    )
    expect(await here.server.stop()).toBe(0)
    await here.comeBack()
    expect(statesOf(5)).toEqual(['pending'])
    await here.start()
    expect(await here.statusBecomes('head of 5', 'success')).toEqual(['pending', 'success'])
    expect((await here.anchorSays(5, 'Done before the stop.')).id).toBe(first.id)
    const all = await here.published()
    expect(all.map(({ status }) => status)).toEqual(['SENT', 'SENT'])
  })

  it('a status that was written is not written again after a restart', async () => {
    await here.start()
    here.pull(6)
    await here.server.admin.complete(await here.claim(6))
    await here.statusBecomes('head of 6', 'success')
    await here.published()
    const before = here.github.requests.length
    expect(await here.server.stop()).toBe(0)
    await here.start()
    // Another publication shows that the server works again.
    here.pull(7)
    await here.server.admin.complete(await here.claim(7))
    await here.statusBecomes('head of 7', 'success')
    await here.published()
    const since = here.github.requests.slice(before).filter(({ method }) => method !== 'GET')
    const others = since.filter(
      ({ path }) => path.includes('/issues/6/') || path.includes(sha('head of 6')),
    )
    expect(others).toEqual([])
    expect(here.github.comments(repo, 6)).toHaveLength(1)
    expect(here.github.count(statuses)).toBe(statesOf(6).length + statesOf(7).length)
  })

  it('GitHub away for the whole run: afterwards only the end of the run is published', async () => {
    await here.start()
    here.pull(8)
    here.pull(9)
    await here.goAway()
    const [done, at] = [await here.claim(8), await here.claim(9)]
    const reported = { status: 'Said while nobody listened', lease_token: at.lease.token }
    await here.server.admin.post(`/v1/runs/${at.run.id}/status`, reported)
    await here.server.admin.complete(done, 'failed', { error: 'It broke.' })
    await until(
      () => here.deliveries('status=PENDING'),
      (open) => open.length === 4 && open.every(({ tries }) => tries > 1),
    )
    expect(here.github.requests.filter(({ method }) => method === 'POST')).toEqual([])
    await here.comeBack()
    expect(await here.statusBecomes('head of 8', 'failure')).toEqual(['failure'])
    expect((await here.anchorSays(8, 'It broke.')).versions).toHaveLength(1)
    expect(await here.statusBecomes('head of 9', 'pending')).toEqual(['pending'])
    await here.anchorSays(9, 'Said while nobody listened')
    const all = await here.published()
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 'SENT'))
    await here.server.admin.complete(at)
    expect(await here.statusBecomes('head of 9', 'success')).toEqual(['pending', 'success'])
  })

  it('a run superseded while GitHub was away, and never shown, is never shown', async () => {
    await here.start()
    here.pull(10)
    await here.goAway()
    await here.claim(10)
    here.github.push(repo, 10, sha('pushed to 10'))
    const newer = await here.claim(10, 'pushed to 10')
    await here.server.admin.complete(newer, 'succeeded', { summary: 'The newer one.' })
    await here.comeBack()
    expect(await here.statusBecomes('pushed to 10', 'success')).toEqual(['success'])
    await here.anchorSays(10, 'The newer one.')
    await here.published()
    expect(await here.deliveries('status=SKIPPED')).toMatchObject([
      { name: 'status', reason: 'never_announced' },
    ])
    expect(statesOf(10)).toEqual([])
  })
})

describe.each(databases)('the sandbox on $name', ({ makeData }) => {
  let serverData: ServerData
  let server: Server
  const start = async (): Promise<void> => {
    server = await Server.start(serverData, { HOLDFAST_CONFIRM_DELAY_MS: '200' })
  }
  beforeEach(async () => {
    serverData = await makeData()
    await start()
  })
  afterEach(async () => {
    await server.kill()
    await serverData.remove()
  })

  const deliveries = async (query: string): Promise<readonly DeliveryJson[]> =>
    (await server.admin.get(`/v1/deliveries?${query}`)).body.items as unknown as DeliveryJson[]
  const sent = (runId: string, count: number) =>
    until(
      () => deliveries(`run=${runId}`),
      (all) => all.length === count && all.every(({ status }) => status === 'SENT'),
    )

  it('publishes to the built-in simulated GitHub', async () => {
    const held = (await server.admin.claim(newPullRequest()('a'))).body
    await sent(held.run.id, 2)
    await server.admin.complete(held, 'succeeded', { summary: 'In the sandbox.' })
    await sent(held.run.id, 2)
    const run = (await server.admin.run(held.run.id)) as AnchoredRun
    expect(run.anchor?.comment_id).toBeGreaterThan(0)
    expect(run.anchor?.url).toMatch(/^http/)
    const names = (await deliveries(`run=${held.run.id}`)).map(({ name }) => name)
    expect(names.toSorted()).toEqual(['anchor', 'status'])
  })

  it('continues after a restart, although its simulated GitHub is new', async () => {
    const held = (await server.admin.claim(newPullRequest()('a'))).body
    await sent(held.run.id, 2)
    expect(await server.stop()).toBe(0)
    await start()
    const reported = { status: 'Still here', lease_token: held.lease.token }
    await server.admin.post(`/v1/runs/${held.run.id}/status`, reported)
    await sent(held.run.id, 2)
    await server.admin.complete(held)
    const all = await sent(held.run.id, 2)
    expect(all.map(({ reason }) => reason)).toEqual([null, null])
    const { body } = await server.admin.get(`/v1/runs/${held.run.id}/audit`)
    expect(body.items.map(({ type }) => type)).toContain('run.anchor.recreated')
  })
})
